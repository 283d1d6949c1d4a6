"""Reads a llama-family GGUF file as what ExecuTorch's llama exporter takes: its parameters and a Meta-style checkpoint.

GGUF keeps the rows of q and k in the interleaved (Meta) rotary order, which is the order that ExecuTorch's llama
expects by default, so no weight is permuted here.
"""

import dataclasses
import json
import pathlib

import gguf
import torch

from tools.export import program
from tools.export.errors import ExportError

# GGUF tensor name -> name in ExecuTorch's llama. "{n}" is the layer.
GLOBAL_NAMES = {
    "token_embd.weight": "tok_embeddings.weight",
    "output_norm.weight": "norm.weight",
    "output.weight": "output.weight",
}
LAYER_NAMES = {
    "attn_q.weight": "attention.wq.weight",
    "attn_k.weight": "attention.wk.weight",
    "attn_v.weight": "attention.wv.weight",
    "attn_output.weight": "attention.wo.weight",
    "ffn_gate.weight": "feed_forward.w1.weight",
    "ffn_down.weight": "feed_forward.w2.weight",
    "ffn_up.weight": "feed_forward.w3.weight",
    "attn_norm.weight": "attention_norm.weight",
    "ffn_norm.weight": "ffn_norm.weight",
}
# Llama 3.1 and later: the factor by which each rotary frequency is divided; its largest value is the scale factor.
ROPE_FACTORS = "rope_freqs.weight"


@dataclasses.dataclass
class LlamaFile:
    """One GGUF file: `params` as params.json of ExecuTorch's llama, the special token ids, and the tensors."""

    path: pathlib.Path
    params: dict
    generation_config: dict
    reader: gguf.GGUFReader

    def checkpoint(self):
        """The weights as float32 tensors under ExecuTorch's names; a tied output shares the embedding's storage."""
        weights = {}
        for tensor in self.reader.tensors:
            if tensor.name != ROPE_FACTORS:
                values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
                weights[_llama_name(tensor.name)] = torch.tensor(values, dtype=torch.float32)
        weights.setdefault("output.weight", weights["tok_embeddings.weight"])
        return weights

    def write_tokenizer(self, folder):
        """Writes tokenizer.json, tokenizer_config.json, chat_template.jinja (where there is one) and
        generation_config.json."""
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(self.path.parent, gguf_file=self.path.name)
        tokenizer.save_pretrained(folder)
        (folder / "generation_config.json").write_text(json.dumps(self.generation_config, indent=2) + "\n")

    def quantize(self, folder, options):
        """The exporter's builder with the quantized weights of the checkpoint in `folder`."""
        return program.quantize(program.llm_config(folder, options))


def open_llama(path):
    """Opens a GGUF file and checks that ExecuTorch's llama can express it."""
    path = pathlib.Path(path)
    try:
        reader = gguf.GGUFReader(path)
    except FileNotFoundError:
        raise ExportError(f"There is no file {path}; give the path of a GGUF file.") from None
    except (ValueError, IndexError) as error:
        raise ExportError(f"{path} is not a readable GGUF file: {error}") from None
    fields = {name: field.contents() for name, field in reader.fields.items()}
    architecture = fields.get("general.architecture")
    if architecture != "llama":
        raise ExportError(f"{path} holds a model of architecture '{architecture}'; only 'llama' can be exported.")
    unknown = sorted(t.name for t in reader.tensors if t.name != ROPE_FACTORS and _llama_name(t.name) is None)
    if unknown:
        raise ExportError(f"{path} holds tensors that a plain llama does not have: {', '.join(unknown)}.")
    return LlamaFile(path, _params(path, fields, reader), _generation_config(fields), reader)


def _llama_name(name):
    if name in GLOBAL_NAMES:
        return GLOBAL_NAMES[name]
    block, _, rest = name.removeprefix("blk.").partition(".")
    return f"layers.{block}.{LAYER_NAMES[rest]}" if block.isdigit() and rest in LAYER_NAMES else None


def _params(path, fields, reader):
    """params.json of ExecuTorch's llama from the metadata; a missing key is an error that names it."""

    def get(key):
        if f"llama.{key}" not in fields:
            raise ExportError(f"{path} lacks the metadata 'llama.{key}', which the export needs.")
        return fields[f"llama.{key}"]

    tensors = {tensor.name: tensor for tensor in reader.tensors}
    heads = get("attention.head_count")
    head_dim = fields.get("llama.attention.key_length", get("embedding_length") // heads)
    if fields.get("llama.rope.dimension_count", head_dim) != head_dim:
        raise ExportError(f"{path} rotates only a part of each head, which ExecuTorch's llama exporter cannot express.")
    params = {
        "dim": get("embedding_length"),
        "hidden_dim": get("feed_forward_length"),
        "n_heads": heads,
        "n_kv_heads": fields.get("llama.attention.head_count_kv", heads),
        "head_dim": head_dim,
        "n_layers": get("block_count"),
        "norm_eps": float(f"{get('attention.layer_norm_rms_epsilon'):.6g}"),  # 9.99999975e-06 was written as 1e-05
        "rope_theta": fields.get("llama.rope.freq_base", 10000.0),
        "vocab_size": int(tensors["token_embd.weight"].shape[1]),
        "use_hf_rope": False,
        "use_scaled_rope": ROPE_FACTORS in tensors,
    }
    if params["use_scaled_rope"]:
        params["rope_scale_factor"] = round(float(tensors[ROPE_FACTORS].data.max()))
    return params


def _generation_config(fields):
    """generation_config.json: the ids that start and end a text."""
    ends = [fields.get(f"tokenizer.ggml.{kind}_token_id") for kind in ("eos", "eot", "eom")]
    config = {"eos_token_id": sorted({end for end in ends if end is not None})}
    if "tokenizer.ggml.bos_token_id" in fields:
        config["bos_token_id"] = fields["tokenizer.ggml.bos_token_id"]
    return config
