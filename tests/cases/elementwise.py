"""Elementwise unaries and broadcasting binaries, in f32, int32 and int64."""

import torch
import torch.nn.functional as F

from tools.fixtures.case import EXACT, F32, TRIG, Case, Tolerance, cycle, fn, integers, noise, ramp, several

aten = torch.ops.aten

RELATIVE = Tolerance(0.0, 1e-3)  # where results are small: a formula that cancels would pass an absolute bound

# Live lengths around workgroup and vector sizes, up and down, with and without passing through 1.
LENGTHS = (128, 64, 7, 1, 63, 128, 3, 65)


def unary(name, function, low, high, tolerance=F32):
    """A unary over [s, 5], evenly spaced from `low` to `high` at every live length."""
    return Case(name, fn(function), lambda s: (ramp(s, 5, low=low, high=high),), {"s": 128}, LENGTHS, tolerance)


def fixed(name, function, *shapes, low=None, high=None, tolerance=F32):
    """A function of tensors with static shapes and random values."""
    inputs = lambda: tuple(noise(*shape, seed=i, low=low, high=high) for i, shape in enumerate(shapes))
    return Case(name, fn(function), inputs, tolerance=tolerance)


def broadcast(name, function, a, b, dtype=torch.float32, low=0.5, high=4.0, tolerance=F32):
    """A binary with the shapes a(s) and b(s): static dims broadcast against live ones and the reverse."""

    def inputs(s):
        if dtype.is_floating_point:
            return noise(*a(s), low=low, high=high), noise(*b(s), low=low, high=high, seed=1)
        return integers(*a(s), low=-1000, high=1000, dtype=dtype), integers(*b(s), low=1, high=50, dtype=dtype, seed=1)

    return Case(name, fn(function), inputs, {"s": 37}, (37, 5, 1, 36, 0, 37), tolerance)


UNARIES = [
    unary("abs", torch.abs, -6, 6, EXACT),
    unary("cos", torch.cos, -6, 6, TRIG),
    unary("exp", torch.exp, -5, 5, TRIG),
    unary("hardswish", F.hardswish, -6, 6),
    unary("neg", torch.neg, -6, 6, EXACT),
    unary("round", torch.round, -6, 6, EXACT),
    unary("rsqrt", torch.rsqrt, 0.5, 12),
    unary("sin", torch.sin, -6, 6, TRIG),
    unary("sqrt", torch.sqrt, 0.05, 12),
    unary("tanh", torch.tanh, -20, 20),
    unary("sigmoid", torch.sigmoid, -12, 12),
    unary("sigmoid_saturated", torch.sigmoid, -200, 200),
    unary("sigmoid_chain", lambda x: torch.sigmoid(torch.sigmoid(x) * 4.0 - 2.0), -12, 12),
    unary("relu", torch.relu, -6, 6, EXACT),
    unary("leaky_relu", lambda x: F.leaky_relu(x, 0.01), -6, 6),
    unary("leaky_relu_slope", lambda x: F.leaky_relu(x, 0.2), -6, 6),
    unary("clamp", lambda x: x.clamp(-2, 3), -6, 6, EXACT),
    unary("clamp_max", lambda x: x.clamp(max=3), -6, 6, EXACT),
    unary("clamp_min", lambda x: x.clamp(min=-0.5), -6, 6, EXACT),
    unary("hardtanh", F.hardtanh, -6, 6, EXACT),
    unary("hardtanh_wide", lambda x: F.hardtanh(x, -2.0, 2.0), -6, 6, EXACT),
    unary("pow_two", lambda x: x.pow(2), -3, 3),
    unary("pow_half", lambda x: x.pow(0.5), 0.1, 9, TRIG),
    unary("pow_three", lambda x: x.pow(3), -3, 3),
    unary("gelu_erf", F.gelu, -6, 6),
    unary("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), -6, 6),
    Case("round_ties", fn(torch.round), lambda: (torch.arange(-8, 9) / 2,), tolerance=EXACT),
    fixed("sigmoid_rank4", torch.sigmoid, (7, 11, 11, 41)[1:] + (2,), low=-12, high=12),
    fixed("gelu_rank3", F.gelu, (7, 37, 41), low=-6, high=6),
    fixed("leaky_relu_rank4", lambda x: F.leaky_relu(x, 0.01), (1, 16, 8, 8)),
    Case("sigmoid_scalar", fn(torch.sigmoid), lambda: (torch.tensor(0.75),)),
    Case(
        "gelu_beyond_one_dimension_of_workgroups",
        fn(F.gelu),
        lambda n: (cycle(n, period=257, offset=128, scale=32.0),),
        {"n": (1024, 4 * 64 * 65535 + 1)},
        (4 * 64 * 65535 + 1, 1024),
        large=True,
    ),
]


class Hardshrink(torch.nn.Module):
    """The exporter decomposes hardshrink, so it is exported as an operator with the same arguments and renamed."""

    def forward(self, x):
        return F.leaky_relu(x), F.leaky_relu(x, 1.25)

    def golden(self, x):
        return F.hardshrink(x, 0.01), F.hardshrink(x, 1.25)


def together(name, *functions, low, high, tolerance=F32, preserve=()):
    """As `unary`, with one output for each function."""
    inputs = lambda s: (ramp(s, 5, low=low, high=high),)
    return Case(name, several(*functions), inputs, {"s": 128}, LENGTHS, tolerance, preserve=preserve)


def of_integers(name, *functions, tolerance=EXACT):
    """Functions of int32 and of int64 elements."""

    def all_functions(*inputs):
        return tuple(function(x) for x in inputs for function in functions)

    inputs = lambda s: tuple(integers(s, 5, low=-40, high=40, dtype=dtype) for dtype in (torch.int32, torch.int64))
    return Case(name, fn(all_functions), inputs, {"s": 37}, (37, 5, 1, 36, 0, 37), tolerance)


UNARIES += [
    together("rounding", torch.ceil, torch.floor, torch.trunc, torch.sign, low=-6, high=6, tolerance=EXACT),
    together("inverse_trigonometry", torch.acos, torch.asin, torch.atan, low=-1, high=1, tolerance=TRIG),
    together("tangents", torch.tan, torch.atan, low=-1.4, high=1.4, tolerance=TRIG),
    together("hyperbolic", torch.cosh, torch.sinh, torch.tanh, low=-8, high=8, tolerance=TRIG),
    together(
        "near_zero",
        torch.sinh,
        torch.expm1,
        torch.log1p,
        torch.erf,
        torch.tanh,
        torch.asin,
        low=-1e-2,
        high=1e-2,
        tolerance=RELATIVE,
    ),
    together(
        "exponentials",
        torch.expm1,
        torch.exp2,
        torch.erf,
        low=-5,
        high=5,
        tolerance=TRIG,
        preserve=(aten.exp2.default,),
    ),
    together(
        "logarithms",
        torch.log,
        torch.log10,
        torch.log2,
        torch.log1p,
        torch.reciprocal,
        low=0.01,
        high=40,
        tolerance=TRIG,
    ),
    together("log10", torch.log10, low=0.01, high=40, tolerance=TRIG),
    together(
        "activations",
        F.elu,
        lambda x: F.elu(x, 0.5),
        F.silu,
        F.hardsigmoid,
        low=-6,
        high=6,
        preserve=(aten.silu.default, aten.hardsigmoid.default),
    ),
    Case(
        "hardshrink",
        Hardshrink,
        lambda s: (ramp(s, 5, low=-6, high=6),),
        {"s": 128},
        LENGTHS,
        delegate=False,
        rename={"aten::leaky_relu": "aten::hardshrink"},
    ),
    together("activations_in_parts", F.silu, F.hardsigmoid, F.hardshrink, F.softplus, F.mish, low=-6, high=6),
    together(
        "powers", *(lambda x, p=p: x.pow(p) for p in (-1, -2, 4, 5, 1.5, -0.5, 0, 1)), low=0.3, high=3, tolerance=TRIG
    ),
    together(
        "powers_of_negatives", *(lambda x, p=p: x.pow(p) for p in (-1, -3, 4, 7)), low=-3, high=-0.3, tolerance=TRIG
    ),
    of_integers(
        "integers_unary",
        torch.abs,
        torch.neg,
        torch.sign,
        torch.relu,
        lambda x: x.clamp(-7, 12),
        lambda x: x.clamp(min=3),
    ),
    of_integers("integers_clamped_by_fractions", lambda x: x.clamp(-7.5, 12.25), tolerance=F32),
    of_integers("integers_to_floats", torch.sigmoid, torch.sin, torch.exp, lambda x: x.abs().sqrt(), tolerance=TRIG),
    of_integers("integers_rounded", torch.round, torch.floor, torch.ceil, torch.trunc),
    of_integers("integers_powers", lambda x: x.pow(2), lambda x: x.pow(3), lambda x: x.pow(0)),
]

NUMBERS = (
    lambda x: x + 1.5,
    lambda x: x - 0.5,
    lambda x: x * -3,
    lambda x: x / 4,
    lambda x: x % 2.0,
    lambda x: x % -1.75,
    lambda x: torch.div(x, 0.75, rounding_mode="floor"),
    lambda x: torch.div(x, 0.75, rounding_mode="trunc"),
    lambda x: torch.pow(2.5, x),
    lambda x: 3.0 - x,
    lambda x: 2.0 / (x + 7.0),
)


def div_modes(a, b):
    return torch.div(a, b, rounding_mode="floor"), torch.div(a, b, rounding_mode="trunc"), torch.floor_divide(a, b)


BINARIES = [
    Case("add", fn(torch.add), lambda s: (noise(s, 41), noise(s, 41, seed=1)), {"s": 37}, (37, 1, 36, 5, 0, 37)),
    Case("add_self", fn(lambda x: x + x), lambda s: (noise(s, 41),), {"s": 37}, (37, 1, 36)),
    Case(
        "add_chain",
        fn(lambda x, y: x + y + x + y + y),
        lambda s: (noise(s, 41), noise(s, 41, seed=1)),
        {"s": 37},
        (37, 1, 36),
    ),
    broadcast("add_rows", torch.add, lambda s: (s, 7), lambda s: (1, 7)),
    broadcast("add_columns", torch.add, lambda s: (3, s), lambda s: (3, 1)),
    broadcast("add_live_against_vector", torch.add, lambda s: (2, s, 5), lambda s: (5,)),
    broadcast("add_lower_rank", torch.add, lambda s: (s, 1), lambda s: (2, 1, 6)),
    broadcast("add_alpha", lambda a, b: torch.add(a, b, alpha=2.5), lambda s: (s, 7), lambda s: (s, 7)),
    broadcast("sub_alpha", lambda a, b: torch.sub(a, b, alpha=3), lambda s: (s, 7), lambda s: (1, 7)),
    broadcast("sub", torch.sub, lambda s: (2, s, 4), lambda s: (2, s, 1)),
    broadcast("mul_rms_shape", torch.mul, lambda s: (1, 1, s, 89), lambda s: (1, 1, s, 1)),
    broadcast("mul_alternating", torch.mul, lambda s: (3, s, 7, 11)[1:], lambda s: (s, 1, 11)),
    broadcast("mul_lower_rank", torch.mul, lambda s: (4,), lambda s: (s, 4)),
    broadcast("div", torch.div, lambda s: (s, 8), lambda s: (1, 8)),
    broadcast("div_floor", lambda a, b: torch.div(a, b, rounding_mode="floor"), lambda s: (2, s, 8), lambda s: (s, 1)),
    broadcast("minimum", torch.minimum, lambda s: (2, s, 8), lambda s: (s, 1), tolerance=EXACT),
    broadcast("pow_tensor", torch.pow, lambda s: (2, s, 8), lambda s: (s, 1), low=0.1, high=3.0, tolerance=TRIG),
    broadcast("maximum", torch.maximum, lambda s: (2, s, 8), lambda s: (s, 1), tolerance=EXACT),
    broadcast("remainder", torch.remainder, lambda s: (2, s, 8), lambda s: (s, 1)),
    broadcast("remainder_signs", lambda a, b: torch.remainder(a - 2.0, b - 2.2), lambda s: (s, 8), lambda s: (1, 8)),
    together(
        "floor_divide", lambda x: torch.floor_divide(x, x + 7.5), low=-6, high=6, preserve=(aten.floor_divide.default,)
    ),
    broadcast("div_modes", lambda a, b: div_modes(a - 2.0, b - 2.2), lambda s: (s, 8), lambda s: (1, 8)),
    together("numbers", *NUMBERS, low=-6, high=6),
    together(
        "scalar_overloads",
        lambda x: aten.add.Scalar(x, 1.5),
        lambda x: aten.add.Scalar(x, 1.5, 2),
        lambda x: aten.sub.Scalar(x, 0.25, 3),
        lambda x: aten.mul.Scalar(x, -2.5),
        lambda x: aten.div.Scalar(x, 3),
        lambda x: aten.rsub.Scalar(x, 1.5, 2),
        lambda x: aten.div.Scalar_mode(x, 0.75, rounding_mode="floor"),
        lambda x: aten.div.Scalar_mode(x, 0.75, rounding_mode="trunc"),
        lambda x: aten.pow.Scalar(2.5, x),
        low=-6,
        high=6,
        tolerance=TRIG,
        preserve=tuple(getattr(aten, name).Scalar for name in ("add", "sub", "mul", "div", "rsub"))
        + (aten.div.Scalar_mode,),
    ),
    Case("add_rank4", fn(torch.add), lambda: (noise(3, 5, 7, 11), noise(3, 5, 7, 11, seed=1))),
    Case("mul_rank4_broadcast", fn(torch.mul), lambda: (noise(3, 5, 7, 11), noise(1, 5, 1, 11, seed=1))),
    Case("add_scalars", fn(torch.add), lambda: (torch.tensor(0.5), torch.tensor(0.25)), tolerance=EXACT),
]

INTEGER_NUMBERS = (
    lambda x: x + 3,
    lambda x: x - 4,
    lambda x: x * 5,
    lambda x: 7 - x,
    lambda x: x // 3,
    lambda x: x % 3,
    lambda x: x // -4,
    lambda x: x % -4,
)


def integer_divisions(a, b):
    """Every rounding, by divisors of both signs."""
    b = torch.where(b % 2 == 0, b, -b)
    modes = tuple(torch.div(a, b, rounding_mode=mode) for mode in ("floor", "trunc"))
    return *modes, torch.floor_divide(a, b), torch.remainder(a, b)


INTEGERS = [
    broadcast(f"{name}_{width}", function, lambda s: (2, s, 5), lambda s: (s, 1), dtype, tolerance=EXACT)
    for width, dtype in (("int32", torch.int32), ("int64", torch.int64))
    for name, function in (("add", torch.add), ("sub", torch.sub), ("mul", torch.mul))
] + [
    broadcast(
        "add_alpha_int32",
        lambda a, b: torch.add(a, b, alpha=3),
        lambda s: (s, 5),
        lambda s: (s, 5),
        torch.int32,
        tolerance=EXACT,
    ),
    broadcast("div_int32", torch.div, lambda s: (s, 5), lambda s: (s, 5), torch.int32),
    broadcast(
        "div_floor_int32",
        lambda a, b: torch.div(a, b, rounding_mode="floor"),
        lambda s: (s, 5),
        lambda s: (s, 5),
        torch.int32,
        tolerance=EXACT,
    ),
    *(
        broadcast(
            f"{name}_{width}",
            function,
            lambda s: (2, s, 5),
            lambda s: (s, 1),
            dtype,
            tolerance=EXACT,
        )
        for width, dtype in (("int32", torch.int32), ("int64", torch.int64))
        for name, function in (
            ("extremes", lambda a, b: (torch.maximum(a, b), torch.minimum(a, b))),
            ("divisions", integer_divisions),
        )
    ),
    of_integers("integers_with_numbers", *INTEGER_NUMBERS),
    of_integers("integers_with_fractions", lambda x: x / 3, lambda x: x * 0.5, lambda x: x + 0.25, tolerance=F32),
    Case(
        "wraps_like_int32",
        fn(lambda a, b: (a + b, a * b, a - b)),
        lambda: (
            integers(40, low=-(2**31), high=2**31 - 1, dtype=torch.int32),
            integers(40, low=-(2**31), high=2**31 - 1, dtype=torch.int32, seed=1),
        ),
        tolerance=EXACT,
    ),
    Case(
        "bytes",
        fn(
            lambda a, b: (
                a + b,
                a * b,
                a - b,
                torch.maximum(a, b),
                torch.minimum(a, b),
                torch.div(a, b, rounding_mode="trunc"),
            )
        ),
        lambda s: (
            integers(s, 3, high=256, dtype=torch.uint8),
            integers(s, 3, low=1, high=256, dtype=torch.uint8, seed=1),
        ),
        {"s": 37},
        (37, 5, 1, 36, 0, 37),
        EXACT,
    ),
    Case(
        "signed_bytes",
        fn(lambda a, b: (a + b, a * b, a - b, torch.maximum(a, b), torch.minimum(a, b), a // b, a % b)),
        lambda s: (
            integers(s, 3, low=-128, high=128, dtype=torch.int8),
            integers(s, 3, low=1, high=128, dtype=torch.int8, seed=1),
        ),
        {"s": 37},
        (37, 5, 1, 36, 0, 37),
        EXACT,
    ),
]

# x + f(g(x)): the operands of the sum sit at different depths of the graph.
LIVE_DIMS = [
    Case(
        "residual_depth_two",
        fn(lambda x: x + torch.sigmoid(torch.tanh(x))),
        lambda s: (ramp(1, s, 8),),
        {"s": 128},
        (64, 128, 64, 7, 1, 64, 128),
    ),
    Case(
        "two_live_dims",
        fn(lambda x, y: torch.tanh(x * y) + x),
        lambda b, s: (noise(b, s, 3), noise(1, s, 3, seed=1)),
        {"b": 6, "s": 33},
        ((6, 33), (1, 33), (6, 1), (2, 16), (0, 16), (5, 0), (6, 33)),
    ),
    Case(
        "live_dims_of_two_inputs",
        fn(lambda x, y: x.sigmoid() * y),
        lambda m, n: (noise(m, 1), noise(1, n, seed=1)),
        {"m": 40, "n": 50},
        ((40, 50), (3, 50), (40, 2), (1, 1), (0, 7), (39, 49)),
    ),
]

CASES = UNARIES + BINARIES + INTEGERS + LIVE_DIMS
