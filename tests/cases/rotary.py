"""Rotary position embedding in its three layouts, with frequencies as inputs, constants and slices of a table."""

import executorch.backends.vulkan.custom_ops_lib  # noqa: F401  registers et_vk
import torch
from executorch.examples.models.llama.rope import (
    RotaryEmbedding,
    hf_apply_rotary_emb,
    hf_precompute_freqs_cis,
    precompute_freqs_cis,
)

from tools.fixtures.case import Case, Fails, cycle, fn, noise


def given(name, b, s, heads, kv_heads, d, live=((),)):
    """The llama layout: pairs of neighbours, frequencies [S, D / 2] as inputs."""

    def inputs(s=s):
        return (
            cycle(b, s, heads, d, period=17, offset=8),
            cycle(b, s, kv_heads, d, period=13, offset=6),
            cycle(s, d // 2, period=11, offset=5),
            cycle(s, d // 2, period=7, offset=3),
        )

    return Case(name, RotaryEmbedding, inputs, {"s": s} if len(live) > 1 else {}, live)


class FromTable(torch.nn.Module):
    """The llama layout with rows [position : position + S] of constant tables, as a language model does it."""

    def __init__(self, d, capacity):
        super().__init__()
        cos, sin = precompute_freqs_cis(d, capacity, 10000.0)
        self.register_buffer("cos", cos)
        self.register_buffer("sin", sin)
        self.rotary = RotaryEmbedding()

    def forward(self, q, k, input_pos):
        start = input_pos[-1].item()
        torch._check(start >= 0)
        torch._check(start < self.cos.shape[0])
        rows = q.shape[1]
        return self.rotary(q, k, self.cos.narrow(0, start, rows), self.sin.narrow(0, start, rows))

    def golden(self, q, k, input_pos):
        rows = slice(int(input_pos[-1]), int(input_pos[-1]) + q.shape[1])
        return self.rotary(q, k, self.cos[rows].double(), self.sin[rows].double())


class HuggingFace(torch.nn.Module):
    """The HF layout: halves of a head; the operator takes the whole table and a start."""

    def forward(self, q, k, cos, sin, input_pos):
        start = input_pos[0].item()
        torch._check_is_size(start)
        torch._check(start + q.shape[1] <= cos.shape[0])
        rows = q.shape[1]
        return hf_apply_rotary_emb(q, k, cos.narrow(0, start, rows), sin.narrow(0, start, rows))

    def golden(self, q, k, cos, sin, input_pos):
        rows = slice(int(input_pos[0]), int(input_pos[0]) + q.shape[1])
        return rotate_halves(q, cos[rows], sin[rows]), rotate_halves(k, cos[rows], sin[rows])


def rotate_halves(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return x * cos[:, None] + torch.cat((-second, first), -1) * sin[:, None]


def hf_inputs(s, position, heads=4, kv_heads=2, d=16, capacity=16):
    cos, sin = hf_precompute_freqs_cis(d, capacity, theta=10000.0)
    return (
        cycle(1, s, heads, d, period=17, offset=8),
        cycle(1, s, kv_heads, d, period=13, offset=6),
        cos,
        sin,
        torch.tensor([position]),
    )


def interleaved(name, b, n, c):
    rotate = lambda x, freqs: torch.ops.et_vk.apply_rotary_emb_interleaved(x, freqs)
    return Case(name, fn(rotate), lambda: (noise(b, n, c), noise(n, c, seed=1)))


CASES = [
    given("llama", 1, 5, 8, 2, 64),
    given("llama_decode", 1, 1, 32, 8, 64),
    given("llama_batch", 3, 5, 2, 1, 8),
    given("llama_head_size_6", 1, 5, 3, 3, 6),
    given("llama_live", 1, 16, 8, 2, 24, (16, 8, 1, 5, 16)),
    Case(
        "llama_live_at_different_depths",
        fn(lambda q, k, cos, sin: RotaryEmbedding()(torch.tanh(torch.tanh(q)), k * 1.0, cos, sin)),
        lambda s: (noise(1, s, 2, 8), noise(1, s, 1, 8, seed=1), noise(s, 4, seed=2), noise(s, 4, seed=3)),
        {"s": 16},
        (7, 16, 1, 9, 16),
    ),
    Case(
        "llama_table",
        lambda: FromTable(8, 32),
        lambda s, position: (noise(1, s, 4, 8), noise(1, s, 2, 8, seed=1), torch.tensor([position])),
        {"s": 24},
        ((24, 0), (1, 24), (1, 31), (7, 3), (24, 8), (1, 0), (3, 29)),
    ),
    Case(
        "hf",
        fn(lambda q, k, cos, sin: hf_apply_rotary_emb(q, k, cos, sin, unsqueeze_dim=1)),
        lambda: (noise(1, 5, 8, 64), noise(1, 5, 2, 64, seed=1), noise(5, 64, seed=2), noise(5, 64, seed=3)),
    ),
    Case(
        "hf_decode_positions",
        HuggingFace,
        lambda position: hf_inputs(1, position),
        live=(0, 7, 15, Fails(16), Fails(2**32), Fails(-1), 3),
    ),
    Case(
        "hf_live",
        HuggingFace,
        hf_inputs,
        {"s": 16},
        ((16, 0), (5, 7), (1, 15), Fails((5, 12)), (16, 0), (3, 13)),
    ),
    interleaved("interleaved", 1, 4, 8),
    interleaved("interleaved_batch", 2, 3, 8),
    interleaved("interleaved_narrow", 1, 5, 4),
    interleaved("interleaved_wide", 1, 2, 16),
    Case(
        "interleaved_live",
        fn(lambda x, freqs: torch.ops.et_vk.apply_rotary_emb_interleaved(x, freqs)),
        lambda n: (noise(2, n, 8), noise(n, 8, seed=1)),
        {"n": 20},
        (20, 3, 1, 20),
    ),
]
