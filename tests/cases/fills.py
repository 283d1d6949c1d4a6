"""Tensors made of numbers, and conversions between element types."""

import torch

from tools.fixtures.case import EXACT, F32, Case, flags, fn, integers, ramp, several

aten = torch.ops.aten

LENGTHS = (37, 5, 1, 36, 0, 37)
DTYPES = (torch.float32, torch.int32, torch.int64, torch.bool)


def filled(name, *functions, tolerance=EXACT, **options):
    """Functions of one tensor [s, 5] of which mostly the shape matters."""
    return Case(
        name, several(*functions), lambda s: (ramp(s, 5, low=-6, high=6),), {"s": 37}, LENGTHS, tolerance, **options
    )


def typed(make):
    """make(x, dtype) for each dtype."""
    return [lambda x, dtype=dtype: make(x, dtype) for dtype in DTYPES]


FILLS = [
    filled(
        "full", *typed(lambda x, dtype: torch.full((x.shape[0], 3), 2, dtype=dtype)), lambda x: torch.full((3,), -0.75)
    ),
    filled("full_like", *typed(lambda x, dtype: torch.full_like(x, 7, dtype=dtype)), lambda x: torch.full_like(x, 1.5)),
    filled(
        "zeros_and_ones",
        *typed(lambda x, dtype: torch.zeros(x.shape[0], 3, dtype=dtype)),
        *typed(lambda x, dtype: torch.ones(3, x.shape[0], dtype=dtype)),
        *typed(lambda x, dtype: torch.zeros_like(x, dtype=dtype)),
        *typed(lambda x, dtype: torch.ones_like(x, dtype=dtype)),
        preserve=(aten.zeros.default, aten.ones.default, aten.zeros_like.default, aten.ones_like.default),
    ),
    filled(
        "fills_that_are_used",
        lambda x: x + torch.full((5,), 0.5),
        lambda x: torch.ones(x.shape[0], 1) - x,
        lambda x: torch.zeros_like(x) + x.sigmoid(),
        tolerance=F32,
    ),
    filled(
        "scalar_tensor",
        lambda x: torch.scalar_tensor(2.5),
        lambda x: torch.scalar_tensor(-3, dtype=torch.int64),
        lambda x: x,
    ),
    filled(
        "empty",
        lambda x: torch.empty_like(x).shape[0] * x,
        lambda x: torch.where(x < 100, x, torch.empty_like(x)),
        lambda x: torch.where(x < 100, x, torch.empty(5)),
        preserve=(aten.empty_like.default, aten.empty.memory_format, aten.empty_permuted.default),
    ),
    filled("empty_in_dim_order", lambda x: torch.where(x < 100, x, torch.empty(5)), delegate=False),
    filled(
        "arange",
        lambda x: torch.arange(x.shape[0]),
        lambda x: torch.arange(x.shape[0], dtype=torch.float32),
        lambda x: torch.arange(3, x.shape[0] + 3, dtype=torch.int32),
        lambda x: torch.arange(17),
    ),
    filled(
        "arange_steps",
        lambda x: torch.arange(-2.0, 3.0, 0.75),
        lambda x: torch.arange(10, -7, -3),
        lambda x: torch.arange(0, 2 * x.shape[0], 2),
        lambda x: torch.arange(5, 5),
    ),
    Case(
        "arange_by_default",
        several(lambda x: torch.arange(x.shape[0]) + 1, lambda x: torch.arange(9)),
        lambda s: (ramp(s, 5),),
        {"s": 37},
        LENGTHS,
        EXACT,
        preserve=(aten.arange.default,),
    ),
]


def converted(name, make, *dtypes):
    """One tensor of `make(s)` as each dtype."""
    return Case(
        name,
        several(*(lambda x, dtype=dtype: x.to(dtype) for dtype in dtypes)),
        lambda s: (make(s),),
        {"s": 86},
        (86, 21, 1, 22, 0, 86),
        EXACT,
    )


INTEGERS = (torch.int32, torch.int64, torch.uint8, torch.int8)

CONVERSIONS = [
    converted(
        "from_f32",
        lambda s: ramp(s, 3, low=-90, high=120),
        torch.int32,
        torch.int64,
        torch.int8,
        torch.bool,
        torch.float32,
    ),
    converted("from_f32_positive", lambda s: ramp(s, 3, low=0, high=250), torch.uint8),
    *(
        converted(
            f"from_{name}",
            lambda s, dtype=dtype: integers(s, 3, low=-100, high=100, dtype=dtype),
            torch.float32,
            torch.bool,
            *INTEGERS,
        )
        for name, dtype in (("int32", torch.int32), ("int64", torch.int64), ("int8", torch.int8))
    ),
    converted(
        "from_uint8", lambda s: integers(s, 3, high=256, dtype=torch.uint8), torch.float32, torch.bool, *INTEGERS
    ),
    converted("from_bool", lambda s: flags(s, 3), torch.float32, *INTEGERS),
    Case(
        "there_and_back",
        several(
            lambda x: x.int().float(),
            lambda x: (x > 0.5).float(),
            lambda x: (x > 0).int() + 1,
            lambda x: x.bool().long(),
        ),
        lambda n: (ramp(n, low=-3, high=3),),
        {"n": 257},
        (257, 63, 64, 65, 1, 4, 67, 0),
        EXACT,
    ),
    Case(
        "conversions_without_dim_order",
        several(lambda x: x.int().float(), lambda x: (x > 0.5).float(), lambda x: x.bool().long()),
        lambda s: (ramp(s, 3, low=-3, high=3),),
        {"s": 37},
        LENGTHS,
        EXACT,
        preserve=(aten._to_copy.default,),
    ),
    Case(
        "promoted",
        several(
            lambda x, i, b: x + i,
            lambda x, i, b: i * b,
            lambda x, i, b: x * b,
            lambda x, i, b: i / 2,
            lambda x, i, b: i + 0.5,
        ),
        lambda s: (ramp(s, 3), integers(s, 3, low=-9, high=9, dtype=torch.int32), flags(s, 3)),
        {"s": 37},
        LENGTHS,
        F32,
    ),
    Case(
        "clone",
        fn(lambda x, i: (x.sigmoid().clone(), i.clone(), x.clone() + 1.0)),
        lambda s: (ramp(s, 3), integers(s, 3)),
        {"s": 37},
        LENGTHS,
        delegate=False,
    ),
]

CASES = FILLS + CONVERSIONS
