"""Llamas of published sizes with made-up weights, to measure speed and memory without anyone's weights.

A real checkpoint of 8 billion weights takes 32 GB as floats and 8 GB as the bytes that the quantizer makes of them. Here
the quantized layers are built directly: w[r, c] = q[c] * scale[r, c / group], where all rows are one row of integers in
memory, so that a layer takes memory only while the exporter packs it. Each layer has integers of its own: equal
constants would be one in the program and one on the GPU.

Answers of such a model mean nothing, but stay finite: rows have the mean square of a trained layer's.
"""

import dataclasses
import math
import zlib

import torch

from tools.export import program
from tools.export.sizes import GEOMETRIES

PERIOD = 64  # of the integers; the files compress well
SCALE_PERIOD = 11  # divides no number of groups above, so rows differ
MEAN_SQUARE = 21.5  # of uniform integers in [-8, 7]


@dataclasses.dataclass(frozen=True)
class Geometry:
    """What the exporter needs in place of a file: `params` as params.json of ExecuTorch's llama, and weights."""

    name: str
    params: dict

    def write_tokenizer(self, folder):
        """There is none: prompts of measurements are random tokens."""

    def checkpoint(self):
        """Float weights that take no memory; those of linears and the embedding are replaced by quantize()."""
        p = self.params
        kv = p["dim"] // p["n_heads"] * p["n_kv_heads"]
        shapes = {"tok_embeddings": (p["vocab_size"], p["dim"]), "output": (p["vocab_size"], p["dim"])}
        weights = {"norm.weight": torch.ones(p["dim"])}
        for n in range(p["n_layers"]):
            layer = f"layers.{n}."
            shapes |= {layer + f"attention.{name}": (p["dim"], p["dim"]) for name in ("wq", "wo")}
            shapes |= {layer + f"attention.{name}": (kv, p["dim"]) for name in ("wk", "wv")}
            shapes |= {layer + f"feed_forward.{name}": (p["hidden_dim"], p["dim"]) for name in ("w1", "w3")}
            shapes |= {layer + "feed_forward.w2": (p["dim"], p["hidden_dim"])}
            weights |= {layer + f"{name}.weight": torch.ones(p["dim"]) for name in ("attention_norm", "ffn_norm")}
        return weights | {f"{name}.weight": torch.zeros(1).expand(shape) for name, shape in shapes.items()}

    def quantize(self, folder, options):
        """The exporter's builder with quantized layers, as program.quantize gives it for real weights."""
        builder = program.quantize(program.llm_config(folder, options, quantized=False))
        for name, module in list(builder.model.named_modules()):
            if isinstance(module, torch.nn.Linear):
                module.weight = torch.nn.Parameter(made_up_linear(name, module, options), requires_grad=False)
        bits, group = map(int, options.embedding_quantize.split(","))
        builder.model.tok_embeddings = made_up_embedding(builder.model.tok_embeddings, bits, group)
        return builder


def geometry(name, layers=None):
    """A geometry by name, with all its layers or the first few."""
    params = GEOMETRIES[name] | {"use_hf_rope": False}
    return Geometry(name, params | {"n_layers": min(layers or params["n_layers"], params["n_layers"])})


def made_up_linear(name, linear, options):
    """The weight of a linear as torchao's configuration for 4w or 8da4w makes it."""
    from torchao.quantization import IntxUnpackedToInt8Tensor

    rows, columns = linear.weight.shape
    groups = columns // options.group_size
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    integers = torch.randint(-8, 8, (PERIOD,), dtype=torch.int8, generator=generator)
    scale = (0.5 + torch.rand(SCALE_PERIOD, generator=generator)) / math.sqrt(MEAN_SQUARE * columns)
    return IntxUnpackedToInt8Tensor(
        qdata=periodic(integers, columns).expand(rows, columns),
        scale=periodic(scale, rows * groups).reshape(rows, groups),
        zero_point=torch.zeros(rows, groups, dtype=torch.int8),
        target_dtype=torch.int4,
        block_size=(1, options.group_size),
        dtype=torch.float32,
        activation_quantization="int8_asym_per_token" if options.quantization == "8da4w" else None,
    )


def made_up_embedding(embedding, bits, group_size):
    """The exporter's quantized embedding; two nibbles of 8 + q a byte."""
    from executorch.examples.models.llama.source_transformation.quantize import QuantizedGroupEmbedding

    rows, columns = embedding.weight.shape
    result = QuantizedGroupEmbedding(
        "meta", rows, columns, group_size, torch.float32, packed=bits < 8, bitwidth=bits, scales_precision=torch.float32
    )
    generator = torch.Generator().manual_seed(zlib.crc32(b"tok_embeddings"))
    stored = torch.randint(0, 256, (PERIOD,), dtype=torch.uint8, generator=generator).view(result.weight.dtype)
    result.weight = periodic(stored, result.weight.numel()).reshape(result.weight.shape)
    result.scales = torch.full(result.scales.shape, 1 / math.sqrt(MEAN_SQUARE))
    return result


def periodic(values, count):
    """The values over and over, `count` of them."""
    return values.repeat(math.ceil(count / len(values)))[:count]
