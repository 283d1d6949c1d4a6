"""Small whole models, for sequences of runs: language models as the exporter makes them, and two of other kinds."""

import json
import pathlib
import tempfile

import executorch.backends.vulkan.custom_ops_lib  # noqa: F401  registers et_vk
import torch
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401  registers llama

from tests.cases.attention import causal, in_turn
from tools.export import program
from tools.export.request import Options
from tools.fixtures.case import ACCUMULATED, Case, Fails, integers, noise, ramp

CONTEXT = 64
LLAMA = {
    "dim": 64,
    "hidden_dim": 96,
    "n_heads": 4,
    "n_kv_heads": 2,
    "head_dim": 16,
    "n_layers": 2,
    "norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "vocab_size": 128,
    "use_hf_rope": False,
    "use_scaled_rope": False,
}


def random_checkpoint(params):
    dim, hidden, vocab = params["dim"], params["hidden_dim"], params["vocab_size"]
    q, kv = params["n_heads"] * params["head_dim"], params["n_kv_heads"] * params["head_dim"]
    shapes = {"tok_embeddings.weight": (vocab, dim), "norm.weight": (dim,), "output.weight": (vocab, dim)}
    for n in range(params["n_layers"]):
        layer = {
            "attention.wq": (q, dim),
            "attention.wk": (kv, dim),
            "attention.wv": (kv, dim),
            "attention.wo": (dim, q),
            "feed_forward.w1": (hidden, dim),
            "feed_forward.w2": (dim, hidden),
            "feed_forward.w3": (hidden, dim),
            "attention_norm": (dim,),
            "ffn_norm": (dim,),
        }
        shapes |= {f"layers.{n}.{name}.weight": shape for name, shape in layer.items()}
    return {
        name: 1 + 0.2 * noise(*shape, seed=i) if len(shape) == 1 else noise(*shape, seed=i) / shape[1] ** 0.5
        for i, (name, shape) in enumerate(shapes.items())
    }


class TinyLlama(torch.nn.Module):
    """The quantized, traced model of ExecuTorch's llama exporter; golden() computes the same from its weights."""

    def __init__(self, **changes):
        super().__init__()
        self.params = LLAMA | changes
        options = Options(max_seq_length=33, max_context_length=CONTEXT)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "params.json").write_text(json.dumps(self.params))
            torch.save(random_checkpoint(self.params), folder / "checkpoint.pth")
            builder = program.quantize(program.llm_config(folder, options))
        with torch.no_grad():
            self.weights = {name: w.dequantize().double() for name, w in builder.model.named_parameters()}
        self.embedding = builder.model.tok_embeddings
        self.traced = program.trace(builder).pre_autograd_graph_module
        rows = (self.params["n_layers"], 2, 1, CONTEXT, self.params["n_kv_heads"], self.params["head_dim"])
        self.caches = torch.zeros(rows, dtype=torch.float64)

    def forward(self, tokens, input_pos):
        return self.traced(tokens, {"input_pos": input_pos})

    def golden(self, tokens, input_pos):
        start = int(input_pos[0])
        x = self.embedding(tokens).double()
        for n in range(self.params["n_layers"]):
            x = x + self.attend(n, self.norm(x, f"layers.{n}.attention_norm"), start)
            x = x + self.gate(n, self.norm(x, f"layers.{n}.ffn_norm"))
        return self.linear(self.norm(x[:, -1], "norm"), "output")

    def attend(self, n, x, start):
        name = f"layers.{n}.attention"
        q, k, v = (self.linear(x, f"{name}.w{part}").unflatten(-1, (-1, self.params["head_dim"])) for part in "qkv")
        q, k = (self.rotate(part, start) for part in (q, k))
        for cache, new in zip(self.caches[n], (k, v)):
            cache[:, start : start + new.shape[1]] = new
        return self.linear(causal(q, *self.caches[n], start).flatten(2), f"{name}.wo")

    def gate(self, n, x):
        name = f"layers.{n}.feed_forward"
        gate = torch.nn.functional.silu(self.linear(x, f"{name}.w1"))
        return self.linear(gate * self.linear(x, f"{name}.w3"), f"{name}.w2")

    def rotate(self, x, start):
        """Pairs of neighbours, or the halves of a head for the HF layout."""
        half = x.shape[-1] // 2
        frequencies = self.params["rope_theta"] ** (-torch.arange(half, dtype=torch.float64) / half)
        angles = torch.outer(torch.arange(start, start + x.shape[1], dtype=torch.float64), frequencies)[:, None]
        hf = self.params["use_hf_rope"]
        a, b = (x[..., :half], x[..., half:]) if hf else (x[..., ::2], x[..., 1::2])
        turned = (a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos())
        return torch.cat(turned, -1) if hf else torch.stack(turned, -1).flatten(-2)

    def norm(self, x, name):
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.params["norm_eps"])
        return x * scale * self.weights[f"{name}.weight"]

    def linear(self, x, name):
        return x @ self.weights[f"{name}.weight"].t()


class ResidualMlp(torch.nn.Module):
    """torch's own RMSNorm is not delegated, so the program is delegate calls with a kernel call between them."""

    def __init__(self):
        super().__init__()
        self.norm = torch.nn.RMSNorm(32)
        self.up = torch.nn.Linear(32, 48)
        self.down = torch.nn.Linear(48, 32)
        with torch.no_grad():
            for i, parameter in enumerate(self.parameters()):
                parameter.copy_(noise(*parameter.shape, seed=i) / 6)

    def forward(self, x):
        y = torch.sigmoid(self.up(self.norm(x)))
        return torch.sigmoid(self.down(y)) * x + x


class Pooled(torch.nn.Module):
    """Scores of a batch of sequences against each other: batch and length are both live."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(50, 24)
        self.key = torch.nn.Linear(24, 24, bias=False)
        with torch.no_grad():
            for i, parameter in enumerate(self.parameters()):
                parameter.copy_(noise(*parameter.shape, seed=i) / 3)

    def forward(self, tokens):
        x = self.table(tokens)
        scores = torch.bmm(self.key(x), x.permute(0, 2, 1)).softmax(-1)
        mixed = torch.bmm(scores, x) + x
        return mixed.mean(1), mixed * mixed.mean(-1, keepdim=True)


def llama(name, **changes):
    def inputs(s, position):
        return integers(1, s, high=LLAMA["vocab_size"], seed=position), torch.tensor([position])

    return Case(
        name,
        lambda: TinyLlama(**changes),
        inputs,
        {"s": 32},
        (
            *in_turn(7, 1, 1, 20, 1),
            (32, 0),
            (31, 32),
            (1, 63),
            Fails((1, 64)),
            Fails((33, 0)),
            Fails((5, 60)),
            (3, 10),
            (2, 0),
        ),
        ACCUMULATED,
        stateful=True,
    )


CASES = [
    llama("llama"),
    llama("llama_hf_rope", use_hf_rope=True),
    Case("residual_mlp", ResidualMlp, lambda s: (ramp(1, s, 32),), {"s": 40}, (17, 40, 1, 8, 39, 40), ACCUMULATED),
    Case(
        "pooled",
        Pooled,
        lambda b, s: (integers(b, s, high=50),),
        {"b": 4, "s": 24},
        ((2, 9), (4, 24), (1, 24), (4, 1), (3, 17), (1, 1), (4, 24)),
        ACCUMULATED,
    ),
]
