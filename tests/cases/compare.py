"""Comparisons, logic on bools, bits of integers, and choices by a condition."""

import torch

from tools.fixtures.case import EXACT, Case, cycle, flags, fn, integers, noise, several

# Counts that are and are not multiples of four, since bools lie four to a word.
LENGTHS = (37, 5, 1, 36, 0, 37)
INTEGERS = (torch.int32, torch.int64)

COMPARISONS = (torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge)


def values(*shape, dtype, period):
    """-2 to `period` - 3 over and over: values of two periods are equal here and there."""
    if dtype == torch.bool:
        return flags(*shape, seed=period)
    return cycle(*shape, period=period, offset=2, scale=1.0).to(dtype)


def pair(name, functions, a, b, *dtypes, make=values):
    """Functions of two tensors shaped a(s) and b(s): an output for each dtype and function."""

    def all_pairs(*inputs):
        return tuple(function(x, y) for x, y in zip(inputs[::2], inputs[1::2]) for function in functions)

    def inputs(s):
        return tuple(
            make(*shape(s), dtype=dtype, period=period) for dtype in dtypes for shape, period in ((a, 5), (b, 3))
        )

    return Case(name, fn(all_pairs), inputs, {"s": 37}, LENGTHS, EXACT)


def one(name, functions, shape, *dtypes, make=values, **options):
    """Functions of one tensor shaped shape(s): an output for each dtype and function."""

    def all_functions(*inputs):
        return tuple(function(x) for x in inputs for function in functions)

    inputs = lambda s: tuple(make(*shape(s), dtype=dtype, period=5) for dtype in dtypes)
    return Case(name, fn(all_functions), inputs, {"s": 37}, LENGTHS, EXACT, **options)


SPECIAL = torch.tensor([float("-inf"), -1.0, 0.0, -0.0, 3.0, float("inf"), float("nan")])


def against(number):
    return [lambda x, compare=compare: compare(x, number) for compare in COMPARISONS]


COMPARED = [
    pair("tensors", COMPARISONS, lambda s: (s, 7), lambda s: (s, 7), torch.float32, torch.int32),
    pair(
        "tensors_of_other_types", COMPARISONS, lambda s: (s, 3), lambda s: (s, 3), torch.int64, torch.bool, torch.uint8
    ),
    pair("rows", COMPARISONS, lambda s: (s, 7), lambda s: (1, 7), torch.float32, torch.int32),
    pair("lower_rank", COMPARISONS, lambda s: (s,), lambda s: (2, 3, 1), torch.float32),
    pair("columns_of_a_batch", COMPARISONS, lambda s: (2, s, 1), lambda s: (s, 5), torch.float32, torch.int64),
    one("numbers", against(1), lambda s: (s, 7), torch.float32, *INTEGERS),
    one("fractions", against(0.5), lambda s: (s, 3), torch.float32, torch.int32),
    Case(
        "vectors",
        several(*COMPARISONS),
        lambda s: (cycle(s, period=5, scale=8.0), cycle(s, period=3, scale=8.0)),
        {"s": 260},
        (260, 67, 5, 1, 256, 252, 0, 260),
        EXACT,
    ),
    Case(
        "infinities_and_not_a_number",
        several(*COMPARISONS),
        lambda: (SPECIAL[:, None].clone(), SPECIAL[None, :].clone()),
        tolerance=EXACT,
    ),
]

CONNECTIVES = (torch.logical_and, torch.logical_or, torch.logical_xor)
BITS = (torch.bitwise_and, torch.bitwise_or, torch.bitwise_xor)


def bits(*shape, dtype, period):
    """All bits of an integer, or a bool."""
    if dtype == torch.bool:
        return flags(*shape, seed=period)
    info = torch.iinfo(torch.int32 if dtype == torch.int64 else dtype)
    return integers(*shape, low=info.min, high=info.max, dtype=dtype, seed=period)


LOGIC = [
    pair("logical", CONNECTIVES, lambda s: (s, 7), lambda s: (s, 7), torch.bool),
    pair("logical_rows", CONNECTIVES, lambda s: (s, 7), lambda s: (7,), torch.bool),
    pair("logical_of_numbers", CONNECTIVES, lambda s: (s, 5), lambda s: (s, 5), torch.float32, *INTEGERS),
    one("logical_not", (torch.logical_not,), lambda s: (s, 5), torch.bool),
    one("logical_not_of_numbers", (torch.logical_not,), lambda s: (s, 5), torch.float32, *INTEGERS, torch.uint8),
    pair("bits", BITS, lambda s: (s, 7), lambda s: (s, 7), torch.bool, *INTEGERS, make=bits),
    pair("bits_of_bytes", BITS, lambda s: (s, 3), lambda s: (s, 3), torch.uint8, torch.int8, make=bits),
    pair("bits_rows", BITS, lambda s: (s, 7), lambda s: (1, 7), torch.bool, torch.int32, make=bits),
    one(
        "bits_of_numbers",
        [lambda x, op=op: op(x, 21) for op in BITS],
        lambda s: (s, 5),
        *INTEGERS,
        torch.uint8,
        make=bits,
    ),
    one(
        "bitwise_not", (torch.bitwise_not,), lambda s: (s, 5), torch.bool, *INTEGERS, torch.uint8, torch.int8, make=bits
    ),
    Case(
        "flags_of_comparisons",
        several(
            lambda x, y: ~((x > y) & (x < 1.0)) | (y == 0.5),
            lambda x, y: torch.logical_not(torch.logical_xor(x > y, y > 0)),
        ),
        lambda s: (noise(s, 3), noise(s, 3, seed=1)),
        {"s": 37},
        LENGTHS,
        EXACT,
    ),
]


def chosen(name, condition, a, b, *dtypes):
    """where(condition, a, b) for each dtype, the shapes being functions of s."""

    def choose(condition, *operands):
        return tuple(torch.where(condition, x, y) for x, y in zip(operands[::2], operands[1::2]))

    def inputs(s):
        operands = (
            values(*shape(s), dtype=dtype, period=period) for dtype in dtypes for shape, period in ((a, 7), (b, 11))
        )
        return flags(*condition(s)), *operands

    return Case(name, fn(choose), inputs, {"s": 37}, LENGTHS, EXACT)


CHOICES = [
    chosen("where", *[lambda s: (s, 5)] * 3, torch.float32, *INTEGERS),
    chosen("where_bytes", *[lambda s: (s, 5)] * 3, torch.bool, torch.uint8, torch.int8),
    chosen("where_by_rows", lambda s: (s, 1), lambda s: (s, 5), lambda s: (1, 5), torch.float32, torch.bool),
    chosen("where_by_columns", lambda s: (3,), lambda s: (2, s, 1), lambda s: (s, 3), torch.float32, torch.int32),
    chosen("where_of_vectors", lambda s: (2, s, 3), lambda s: (3,), lambda s: (1,), torch.float32),
    Case(
        "where_of_numbers",
        several(
            lambda x: torch.where(x > 0, x, 0.0),
            lambda x: torch.where(x > 0, 1.0, x),
            lambda x: x.masked_fill(x < 0, float("-inf")),
        ),
        lambda s: (noise(s, 5),),
        {"s": 37},
        LENGTHS,
        EXACT,
    ),
    Case(
        "causal_mask",
        fn(
            lambda x: x.masked_fill(
                torch.arange(x.shape[0])[:, None] < torch.arange(x.shape[0])[None, :], float("-inf")
            )
        ),
        lambda s: (noise(s, s),),
        {"s": 17},
        (17, 3, 1, 16, 17),
        EXACT,
    ),
]

CASES = COMPARED + LOGIC + CHOICES
