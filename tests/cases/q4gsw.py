"""4-bit linears with a scale for each group of weights, alone and in the patterns of transformer blocks."""

import torch
from executorch.backends.vulkan.quantizer.vulkan_quantizer import VulkanQuantizer, get_symmetric_quantization_config
from torchao.quantization.granularity import PerGroup
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.quant_api import IntxWeightOnlyConfig, quantize_

from tests.cases.norms import RmsNorm
from tools.fixtures.case import CHAIN_Q4, DEEP_SUM, F32, Case, Sweep, cycle, noise, ramp


class Q4Linear(torch.nn.Module):
    """A quantized torch.nn.Linear; its golden uses the dequantized weight."""

    def __init__(self, inputs, outputs, group, bias=False, seed=0):
        super().__init__()
        self.fc = torch.nn.Linear(inputs, outputs, bias=bias)
        with torch.no_grad():
            self.fc.weight.copy_(noise(outputs, inputs, seed=seed) / inputs**0.5)
            if bias:
                self.fc.bias.copy_(torch.linspace(-0.25, 0.25, outputs))
        self.fc.requires_grad_(False)
        quantize_(self.fc, IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(group)))

    def forward(self, x):
        return self.fc(x)

    def golden(self, x):
        bias = None if self.fc.bias is None else self.fc.bias.double()
        return torch.nn.functional.linear(x, self.fc.weight.dequantize().double(), bias)


class Q4Block(torch.nn.Module):
    """A function of several linears and the inputs, with the linears' goldens in the float64 reference."""

    def __init__(self, function, *linears):
        super().__init__()
        self.linears = torch.nn.ModuleList(linears)
        self.function = function

    def forward(self, *inputs):
        return self.function(self.linears, *inputs)

    def golden(self, *inputs):
        return self.function([getattr(linear, "golden", linear) for linear in self.linears], *inputs)


def linear(name, inputs, outputs, group, live, bias=False, bound=None, tolerance=F32, make=ramp, **options):
    """x [m, inputs] -> [m, outputs] at each live m; static when there is one and no bound."""
    bounds = {"m": bound or max(live)} if bound or len(live) > 1 else {}
    return Case(
        name,
        lambda: Q4Linear(inputs, outputs, group, bias),
        lambda m: (make(m, inputs),),
        bounds,
        live,
        tolerance,
        **options,
    )


def block(name, function, widths, live, inputs=64, group=32, bound=64, separate=(), bias=False, norm=False, **options):
    """A function of linears of one input [m, inputs], and of a norm behind them; those in `separate` take a second one."""

    def make(m):
        x = ramp(m, inputs)
        return (x, x.flip(-1).contiguous()) if separate else (x,)

    def module():
        linears = [Q4Linear(inputs, n, group, bias, seed=i) for i, n in enumerate(widths)]
        return Q4Block(function, *linears, *([RmsNorm(inputs, torch.linspace(0.5, 1.5, inputs))] if norm else []))

    return Case(name, module, make, {"m": bound}, live, CHAIN_Q4, **options)


ROWS = (128, 32, 1, 127, 33, 4, 128)

LIVE = [
    linear("live", 64, 24, 32, ROWS),
    linear("live_below_the_bound_first", 64, 24, 32, (64, 128, 1, 7), bound=128),
    linear("live_empty", 64, 24, 32, (0, 16, 0, 1), bound=16),
    linear("live_bias", 64, 24, 32, ROWS, bias=True),
    linear("live_group_24", 72, 32, 24, ROWS),
    linear("live_wide", 72, 264, 24, (33, 8, 1, 33)),
    linear("live_group_16", 48, 24, 16, ROWS),
    linear("static_one_row", 64, 128, 32, (1,)),
    linear("static_32_rows", 64, 128, 32, (32,)),
    linear("rows", 40, 16, 8, (129, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 127, 128, 129)),
    Case(
        "two_live_dims",
        lambda: Q4Linear(64, 24, 32),
        lambda b, s: (noise(b, s, 64),),
        {"b": 3, "s": 20},
        ((3, 20), (1, 20), (3, 1), (2, 7), (3, 20)),
    ),
]


def sweep(name, sizes, live, bias=False):
    """A linear of each (inputs, outputs, group) in one program, all with the same live rows."""
    return Case(
        name,
        lambda: Sweep(Q4Linear(k, n, group, bias) for k, n, group in sizes),
        lambda m: tuple(noise(m, k) for k, _, _ in sizes),
        {"m": max(live)},
        live,
    )


# The exporter pads K to a multiple of 8.
NARROW = (
    (8, 8),
    (12, 4),
    (16, 16),
    (20, 20),
    (28, 4),
    (32, 32),
    (36, 12),
    (44, 44),
    (64, 8),
    (64, 64),
    (96, 32),
    (96, 96),
)
WIDE = ((100, 20), (104, 8), (256, 32), (256, 64), (256, 128), (256, 256), (260, 52), (440, 8), (512, 128), (1536, 32))
COLUMNS = (8, 16, 24, 40, 56, 64, 72, 96, 104, 136, 256, 264)

SWEEPS = [
    sweep("k_and_group_narrow", [(k, 16, group) for k, group in NARROW], (5, 1, 2, 5)),
    sweep("k_and_group_wide", [(k, 16, group) for k, group in WIDE], (2, 1, 2)),
    sweep("k_2048", [(2048, 16, 64)], (3, 1, 3)),
    sweep("k_4096", [(4096, 8, 256)], (2, 1)),
    sweep("n", [(32, n, 32) for n in COLUMNS], (5, 1, 5), bias=True),
]


def big(name, rows, inputs, outputs, group=32, tolerance=F32):
    return linear(name, inputs, outputs, group, (rows,), tolerance=tolerance, make=cycle, large=True)


LARGE = [
    big("q_proj", 1, 2048, 2048),
    big("kv_proj", 1, 2048, 512),
    big("gate_proj", 1, 2048, 8192),
    big("down_proj", 1, 8192, 2048, tolerance=DEEP_SUM),
    big("prefill_96", 96, 2048, 256),
    big("prefill_edge", 70, 1024, 136),
    big("prefill_group_64", 96, 2048, 256, group=64),
    big("prefill_group_8", 96, 2048, 256, group=8),
    big("prefill_gate", 128, 2048, 8192),
    big("prefill_down", 128, 8192, 2048, tolerance=DEEP_SUM),
    big("prefill_tile_edge", 130, 4096, 2056, tolerance=DEEP_SUM),
    linear(
        "prefill_and_decode", 2048, 2048, 64, (512, 511, 508, 128, 127, 1, 508, 512), tolerance=DEEP_SUM, large=True
    ),
]


def reshaped(linears, x):
    return tuple(linear(x).reshape(1, x.shape[0], -1) for linear in linears)


def gated(linears, x, other=None):
    gate = linears[0](x)
    return gate * torch.sigmoid(gate) * linears[1](x if other is None else other)


def gated_reversed(linears, x):
    gate = linears[0](x)
    return linears[1](x) * (torch.sigmoid(gate) * gate)


def normed(function):
    """The function of the norm of x, which is the last of the block's modules."""
    return lambda modules, x: function(modules[:-1], modules[-1](x))


def gated_with(extra):
    """A gated product of which other parts are used or returned as well."""

    def function(linears, x):
        gate = linears[0](x)
        sigmoid = torch.sigmoid(gate)
        silu = gate * sigmoid
        return extra(silu * linears[1](x), gate, sigmoid, silu)

    return function


def gated_interleaved(linears, x):
    gate = linears[0](x)
    third = linears[2](x)
    return gate * torch.sigmoid(gate) * linears[1](x) + third


def qkv_and_gated(linears, x):
    return torch.sigmoid(linears[2](x)), gated(linears, x)


BLOCKS = [
    block("qkv_sigmoid", lambda l, x: tuple(torch.sigmoid(f(x)) for f in l), (96, 32, 32), (16, 1, 16), bound=16),
    block("qkv", reshaped, (96, 32, 32), (64, 63, 16, 2, 1, 64)),
    block("qkv_of_two_inputs", lambda l, x, y: (l[0](x), l[1](x), l[2](y)), (96, 32, 32), (64, 16, 1), separate=(2,)),
    block("qkv_equal_widths", reshaped, (64, 64, 32), (64, 16, 1)),
    block("gated", gated, (96, 96), (64, 16, 1, 64)),
    block("gated_of_two_inputs", gated, (96, 96), (64, 1), separate=(1,)),
    block("gated_reversed", gated_reversed, (96, 96), (64, 1)),
    block("gated_plus_gate", gated_with(lambda y, gate, sigmoid, silu: y + gate), (64, 64), (64, 1)),
    block("gated_plus_sigmoid", gated_with(lambda y, gate, sigmoid, silu: y + sigmoid), (64, 64), (64, 1)),
    block("gated_plus_silu", gated_with(lambda y, gate, sigmoid, silu: y + silu), (64, 64), (64, 1)),
    block("gated_returns_gate", gated_with(lambda y, gate, sigmoid, silu: (y, gate)), (64, 64), (64, 1)),
    block("gated_returns_sigmoid", gated_with(lambda y, gate, sigmoid, silu: (y, sigmoid)), (64, 64), (64, 1)),
    block("gated_returns_silu", gated_with(lambda y, gate, sigmoid, silu: (y, silu)), (64, 64), (64, 1)),
    block("gated_returns_all", gated_with(lambda *parts: parts), (32, 32), (64, 1)),
    block("gated_interleaved", gated_interleaved, (64, 64, 64), (64, 1)),
    block("qkv_and_gated", qkv_and_gated, (64, 64, 64), (64, 1)),
    Case(
        "residual",
        lambda: Q4Block(
            lambda l, x: x + l[1](torch.sigmoid(l[0](x))), Q4Linear(64, 96, 32), Q4Linear(96, 64, 32, seed=1)
        ),
        lambda m: (ramp(m, 64),),
        {"m": 64},
        (33, 64, 1, 7, 64),
        CHAIN_Q4,
    ),
    block("qkv_bias", reshaped, (96, 32, 32), (64, 9, 1, 3, 64), bias=True),
    block("gated_bias", gated, (40, 40), (64, 1, 9), bias=True),
    block("residual_bias", lambda l, x: x + l[0](x), (64,), (64, 1, 9), bias=True),
    block("residual_of_one_row", lambda l, x, y: l[0](x) + y[:1], (64,), (1, 64, 9, 1), separate=(1,)),
    block("norm_qkv", normed(reshaped), (72, 24, 24), (64, 1, 9, 3, 64), inputs=72, group=24, norm=True),
    block("norm_gated", normed(gated), (40, 40), (64, 1, 9, 3, 64), inputs=96, norm=True),
    block("norm_residual", normed(lambda l, x: l[0](x) + x), (64,), (64, 1, 9), norm=True),
    block("norm_returned", lambda l, x: (l[0](l[1](x)), l[1](x)), (64,), (64, 1, 9), norm=True),
    block("gated_wide", gated, (8192, 8192), (512, 128, 1, 512), bound=512, large=True),
    block(
        "qkv_wide",
        reshaped,
        (2048, 512, 512),
        (512, 511, 508, 128, 127, 16, 2, 1, 508, 512),
        inputs=2048,
        group=64,
        bound=512,
        large=True,
    ),
]


def quantized_by_channel(inputs, outputs):
    """A linear with one scale a row of the weight, which becomes et_vk.linear_qcs4w, as torch's quantizer makes it."""
    linear = torch.nn.Linear(inputs, outputs, bias=False)
    with torch.no_grad():
        linear.weight.copy_(noise(outputs, inputs) / inputs**0.5)
    example = (noise(8, inputs),)
    quantizer = VulkanQuantizer().set_global(get_symmetric_quantization_config(is_dynamic=False, weight_bits=4))
    rows = ({0: torch.export.Dim("rows", min=1, max=128)},)
    prepared = prepare_pt2e(torch.export.export(linear, example, dynamic_shapes=rows).module(), quantizer)
    prepared(*example)
    module = convert_pt2e(prepared)
    weight = module(torch.eye(inputs)).T.double()  # exact: each element is a weight times 1
    module.golden = lambda x: x @ weight.T
    return module


def by_channel(name, inputs, outputs, rows=None, **options):
    make = lambda m=rows: (noise(m, inputs),)
    return Case(name, lambda: quantized_by_channel(inputs, outputs), make, **options)


CHANNELS = [
    by_channel("channels", 32, 16, 4),
    by_channel("channels_one_row", 32, 16, 1),
    by_channel("channels_64", 64, 8, 2),
    by_channel("channels_square", 32, 32, 3),
    by_channel("channels_live", 72, 52, bounds={"m": 70}, live=(70, 1, 7, 64, 0, 70)),
]

CASES = CHANNELS + LIVE + SWEEPS + LARGE + BLOCKS
