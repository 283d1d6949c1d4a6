"""Sizes and positions that are computed in the program: SymInts from shapes, inputs and arithmetic."""

import executorch.backends.vulkan.custom_ops_lib  # noqa: F401  registers et_vk
import torch

from tools.fixtures.case import EXACT, Case, fn, noise, ramp, several


def at(position):
    return torch.tensor([position])


def window(x, input_pos):
    """Eight rows from a position that the host gives."""
    start = input_pos[0].item()
    torch._check(start >= 0)
    torch._check(start <= x.shape[0] - 8)
    return x.narrow(0, start, 8)


def window_of_the_length_of(x, y, input_pos):
    """As many rows as y has, from a position that the host gives: start and end are SymInts."""
    start = input_pos[-1].item()
    torch._check(start >= 0)
    torch._check(start + y.shape[0] <= x.shape[0])
    return x.narrow(0, start, y.shape[0]) + y


SHAPES = [
    Case(
        "halves",
        several(
            lambda x: x[: x.shape[0] // 2],
            lambda x: x[x.shape[0] // 2 :],
            lambda x: x.reshape(x.shape[0] // 2, 2, 6) + 0.5,
        ),
        lambda half: (noise(2 * half, 6),),
        {"half": (2, 17)},
        (17, 2, 7, 16, 17),
    ),
    Case(
        "all_but_three",
        fn(lambda x: x[: x.shape[0] - 3]),
        lambda s: (noise(s + 3, 6),),
        {"s": (2, 30)},
        (30, 2, 7, 30),
        EXACT,
    ),
    Case(
        "products_of_sizes",
        fn(lambda x: x.reshape(x.shape[0] * x.shape[1], 6) + 0.5),
        lambda b, s: (noise(b, s, 6),),
        {"b": 5, "s": 33},
        ((5, 33), (1, 33), (5, 1), (3, 8), (5, 33)),
    ),
    Case(
        "sum_of_sizes",
        fn(lambda x, y: torch.cat((x, y)).reshape(x.shape[0] + y.shape[0], 2, 3) + 0.5),
        lambda s, t: (noise(s, 6), noise(t, 6, seed=1)),
        {"s": 9, "t": 12},
        ((9, 12), (1, 12), (9, 1), (4, 7), (9, 12)),
    ),
    Case(
        "size_of_an_intermediate",
        fn(lambda x, y: torch.cat((x, y.sigmoid())).tanh()[: (x.shape[0] + y.shape[0]) // 2].reshape(-1, 3)),
        lambda s, t: (noise(s, 6), noise(t, 6, seed=1)),
        {"s": (2, 9), "t": (2, 12)},
        ((9, 12), (2, 12), (9, 2), (4, 7), (9, 12)),
    ),
]

POSITIONS = [
    Case("window", fn(window), lambda position: (noise(40, 6), at(position)), live=(0, 7, 32, 1, 31), tolerance=EXACT),
    Case(
        "window_of_a_live_length",
        fn(window_of_the_length_of),
        lambda s, position: (noise(40, 6), noise(s, 6, seed=1), at(position)),
        {"s": 24},
        ((24, 0), (1, 24), (1, 39), (7, 3), (24, 16), (3, 37)),
    ),
    Case(
        "window_in_int32",
        fn(window),
        lambda position: (noise(40, 6), at(position).int()),
        live=(0, 7, 32),
        tolerance=EXACT,
    ),
]


class UpTo(torch.nn.Module):
    """A SymInt that is itself an input of the method."""

    def forward(self, x, n: int):
        return x[:, :n].sigmoid()


INPUTS = [
    Case("int_input", UpTo, lambda n: (ramp(3, 20), n), {"n": (2, 19)}, (19, 2, 7, 19)),
]


class Comparisons(torch.nn.Module):
    """Outputs that are SymInts of 0 or 1."""

    def forward(self, x):
        s = x.shape[0]
        return x, s < 7, s <= 7, s > 7, s >= 7, s == 7

    def golden(self, x):
        x, *flags = self.forward(x)
        return x, *map(int, flags)


RENAMED = {"mod": "sym_max", "floordiv": "sym_min", "eq": "ne"}


class Extremes(torch.nn.Module):
    """sym_max, sym_min and `!=`, which the exporter does not write: exported as other operators and renamed."""

    def forward(self, x):
        s = x.shape[0]
        return x * (s % 7), x * (s // 7), x, s == 7

    def golden(self, x):
        s = x.shape[0]
        return x * max(s, 7), x * min(s, 7), x, int(s != 7)


ARITHMETIC = [
    Case(
        "extremes_of_sizes",
        Extremes,
        lambda s: (ramp(s, 5),),
        {"s": (2, 30)},
        (30, 2, 7, 8, 6, 30),
        delegate=False,
        rename={f"executorch_prim::{old}": f"executorch_prim::{new}" for old, new in RENAMED.items()},
    ),
    Case(
        "remainders_of_sizes",
        several(lambda x: x * (x.shape[0] % 7), lambda x: x * (-x.shape[0]), lambda x: x + (x.shape[0] // 3 - 5)),
        lambda s: (ramp(s, 5),),
        {"s": (2, 30)},
        (30, 2, 7, 14, 29, 30),
        delegate=False,
    ),
    Case(
        "comparisons_of_sizes",
        Comparisons,
        lambda s: (ramp(s, 5),),
        {"s": (2, 30)},
        (30, 2, 7, 8, 6, 30),
        delegate=False,
    ),
    Case(
        "item_as_a_number",
        fn(lambda x, i: x * i[1, 0].item() + i[0, 0].item()),
        lambda a, b: (ramp(3, 5), torch.tensor([[a], [b]])),
        live=((1, 2), (-7, 0), (1000, -3), (1, 2)),
        delegate=False,
    ),
]


class Constants(torch.nn.Module):
    """Sums with constants; `tied` ones have equal bytes and share one entry of the file."""

    def __init__(self, *constants):
        super().__init__()
        self.constants = torch.nn.ParameterList(constants)

    def forward(self, x):
        for constant in self.constants:
            x = x + constant
        return x


def counted(scale=1.0, offset=0.0):
    return torch.arange(16.0).reshape(4, 4) * scale + offset


PREPACK = [
    Case("one_constant", lambda: Constants(counted()), lambda: (ramp(4, 4),)),
    Case("two_constants", lambda: Constants(counted(), counted(0.5, -3.0)), lambda: (ramp(4, 4),)),
    Case("tied_constants", lambda: Constants(counted(), counted()), lambda: (ramp(4, 4),)),
    Case("zero_constant", lambda: Constants(torch.zeros(4, 4)), lambda: (ramp(4, 4),)),
]

CASES = SHAPES + POSITIONS + INPUTS + ARITHMETIC + PREPACK
