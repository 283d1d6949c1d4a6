"""Linears with 4-bit weights whose activations are rounded to 8 bits in each run, a scale and a zero point a row."""

import torch
from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
from torchao.quantization.granularity import PerGroup

from tests.cases.norms import RmsNorm
from tools.fixtures.case import CHAIN_Q4, Case, Sweep, noise


class DynamicLinear(torch.nn.Module):
    """A torch.nn.Linear in torchao's 8da4w; its golden is torchao's own f32 result."""

    def __init__(self, inputs, outputs, group, bias=False, seed=0):
        super().__init__()
        self.fc = torch.nn.Linear(inputs, outputs, bias=bias)
        with torch.no_grad():
            self.fc.weight.copy_(noise(outputs, inputs, seed=seed) / inputs**0.5)
            if bias:
                self.fc.bias.copy_(torch.linspace(-0.25, 0.25, outputs))
        self.fc.requires_grad_(False)
        quantize_(
            self.fc,
            Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(group)),
        )

    def forward(self, x):
        return self.fc(x)

    # Not in float64, where an input near the middle of two int8 values may round to the other one.
    def golden(self, x):
        return self.fc(x.float()) if len(x) else torch.zeros(*x.shape[:-1], self.fc.out_features)


class Choice(torch.nn.Module):
    """Scales and zero points alone."""

    def __init__(self, mapping, low=-128, high=127):
        super().__init__()
        self.mapping, self.low, self.high = mapping, low, high

    def forward(self, x):
        return torch.ops.torchao.choose_qparams_affine(
            x, self.mapping, [1, x.shape[-1]], torch.int8, self.low, self.high, 1e-5, torch.float32, torch.int8
        )

    def golden(self, x):
        return self.forward(x.float())


class Feed(torch.nn.Module):
    """The gated feed-forward part of a transformer: norm, two linears of one input, their product, a third, a sum."""

    def __init__(self, width, hidden, group):
        super().__init__()
        self.norm = RmsNorm(width, torch.linspace(0.5, 1.5, width))
        self.gate = DynamicLinear(width, hidden, group, seed=1)
        self.up = DynamicLinear(width, hidden, group, seed=2)
        self.down = DynamicLinear(hidden, width, group, seed=3)

    def forward(self, x):
        h = self.norm(x)
        return x + self.down(torch.nn.functional.silu(self.gate(h)) * self.up(h))

    def golden(self, x):
        return self.forward(x.float())


def linear(name, inputs, outputs, group, live, bound=None, make=noise, **options):
    bounds = {"m": bound or max(live)} if bound or len(live) > 1 else {}
    return Case(name, lambda: DynamicLinear(inputs, outputs, group, **options), lambda m: (make(m, inputs),), bounds, live)


def positive(m, inputs):
    """Rows whose least value is above zero, and one of zeros."""
    x = noise(m, inputs).abs() + 0.5
    x[m // 2] = 0
    return x


CASES = [
    linear("live", 64, 24, 32, (128, 32, 1, 127, 33, 4, 128)),
    linear("live_below_the_bound_first", 64, 24, 32, (64, 128, 1, 7), bound=128),
    linear("live_empty", 64, 24, 32, (0, 16, 0, 1), bound=16),
    linear("live_bias", 64, 24, 32, (5, 1, 2, 3), bias=True),
    linear("live_group_24", 72, 40, 24, (33, 8, 1, 33)),
    linear("rows", 40, 16, 8, (129, 2, 3, 4, 5, 15, 16, 17, 63, 65, 129)),
    linear("one_row", 64, 128, 32, (1,)),
    linear("positive_and_zero", 64, 16, 32, (6, 1, 3), make=positive),
    *(
        Case(name, lambda m=mapping, r=q_range: Choice(m, *r), lambda m: (noise(m, 37) * 3,), {"m": 9}, (9, 1, 2, 4, 7))
        for name, mapping, q_range in (
            ("choose_asymmetric", "ASYMMETRIC", (-128, 127)),
            ("choose_narrow", "ASYMMETRIC", (-8, 7)),
            ("choose_symmetric", "SYMMETRIC", (-128, 127)),
            ("choose_symmetric_no_clipping", "SYMMETRIC_NO_CLIPPING_ERR", (-128, 127)),
        )
    ),
    Case(
        "two_live_dims",
        lambda: DynamicLinear(64, 24, 32),
        lambda b, s: (noise(b, s, 64),),
        {"b": 3, "s": 20},
        ((3, 20), (1, 20), (3, 1), (2, 7), (3, 20)),
    ),
    Case(
        "widths",
        lambda: Sweep(DynamicLinear(k, 16, group) for k, group in ((8, 8), (12, 4), (36, 12), (100, 20), (260, 52), (512, 128))),
        lambda m: tuple(noise(m, k) for k in (8, 12, 36, 100, 260, 512)),
        {"m": 5},
        (5, 1, 2),
    ),
    Case("feed_forward", lambda: Feed(64, 96, 32), lambda m: (noise(m, 64),), {"m": 40}, (40, 1, 7, 40), CHAIN_Q4),
]
