"""Largest and smallest elements and their places, products, and questions about all elements."""

import torch

from tools.fixtures.case import EXACT, F32, Case, cycle, each, flags, fn, integers, noise, several

aten = torch.ops.aten

LENGTHS = (37, 5, 1, 36, 0, 37)
FILLED = (37, 5, 1, 36, 37)  # where an empty dim is an error or would be reduced

# Both sides of every vector, subgroup and workgroup size.
WIDTHS = (1, 7, 16, 31, 32, 33, 63, 64, 65, 96, 104, 255, 256, 257, 511, 512, 513, 1024)


def reduced(name, shape, *functions, live=LENGTHS, make=noise, tolerance=EXACT, **options):
    """Functions of one tensor shaped shape(s), an output each."""
    return Case(name, several(*functions), lambda s: (make(*shape(s)),), {"s": 37}, live, tolerance, **options)


def ties(*shape):
    """Few different values, so that the largest stands in several places, and the largest ones negative or zero."""
    return cycle(*shape, period=5, offset=4, scale=1.0)


def negative(*shape):
    """All below zero: an accumulator that starts at 0 would win."""
    return noise(*shape, low=-9.0, high=-1.0)


def extremes(*dims, **options):
    return (lambda x: x.amax(dims, **options)), (lambda x: x.amin(dims, **options))


def places(dim, **options):
    return (lambda x: x.argmax(dim, **options)), (lambda x: x.argmin(dim, **options))


def widths(name, functions, make, sizes=WIDTHS, rows=3):
    """Functions over the last dim of a [rows, width] input for each width, in one program."""
    module = fn(lambda *inputs: tuple(function(x) for x in inputs for function in functions))
    return Case(name, module, lambda: tuple(make(rows, width) for width in sizes), tolerance=EXACT)


EXTREMES = [
    reduced("extremes_last", lambda s: (s, 3, 33), *extremes(-1), *extremes(-1, keepdim=True)),
    reduced("extremes_first", lambda s: (5, s, 3), *extremes(0), *extremes(0, keepdim=True)),
    reduced("extremes_middle", lambda s: (s, 7, 6), *extremes(1), *extremes(1, keepdim=True)),
    reduced("extremes_two_dims", lambda s: (2, s, 7, 6), *extremes(2, 3), *extremes(-1, -2, keepdim=True)),
    reduced("extremes_dims_apart", lambda s: (4, s, 6), *extremes(0, 2), *extremes(0, 2, keepdim=True)),
    reduced("extremes_the_live_dim", lambda s: (3, s, 5), *extremes(1), *extremes(1, keepdim=True), live=FILLED),
    reduced("extremes_of_negatives", lambda s: (s, 37), *extremes(-1), make=negative),
    reduced("extremes_of_ties", lambda s: (s, 37), *extremes(-1, keepdim=True), make=ties),
    reduced("extremes_of_all", lambda s: (s, 37), torch.max, torch.min, live=FILLED),
    reduced(
        "extremes_of_integers",
        lambda s: (s, 37),
        *extremes(-1),
        torch.max,
        torch.min,
        live=FILLED,
        make=lambda *shape: integers(*shape, low=-(2**31), high=2**31 - 1, dtype=torch.int32),
    ),
    widths("amax_widths", [lambda x: x.amax(-1)], negative),
    widths("amin_widths", [lambda x: x.amin(-1, keepdim=True)], lambda *shape: -negative(*shape)),
]

PLACES = [
    reduced("places_last", lambda s: (s, 3, 33), *places(-1), *places(-1, keepdim=True)),
    reduced("places_first", lambda s: (5, s, 3), *places(0), *places(0, keepdim=True)),
    reduced("places_middle", lambda s: (s, 7, 6), *places(1), *places(-2, keepdim=True)),
    reduced("places_the_live_dim", lambda s: (3, s, 5), *places(1), *places(1, keepdim=True), live=FILLED),
    reduced("places_of_ties", lambda s: (s, 37), *places(-1), *places(0), make=ties, live=FILLED),
    reduced("places_in_all", lambda s: (s, 37), *places(None), live=FILLED),
    reduced("places_of_integers", lambda s: (s, 37), *places(-1), make=lambda *shape: integers(*shape, low=-5, high=5)),
    widths("argmax_widths", [lambda x: x.argmax(-1)], negative),
    widths("argmin_ties", [lambda x: x.argmin(-1, keepdim=True)], ties),
]

PRODUCTS = [
    reduced(
        "products",
        lambda s: (s, 3, 9),
        lambda x: x.prod(-1),
        lambda x: x.prod(1, keepdim=True),
        make=lambda *shape: noise(*shape, low=-1.5, high=1.5),
        tolerance=F32,
    ),
    reduced(
        "all_elements",
        lambda s: (s, 3, 9),
        torch.sum,
        torch.mean,
        live=FILLED,
        tolerance=F32,
        preserve=(aten.sum.default, aten.mean.default),
    ),
    reduced(
        "no_elements",
        lambda s: (s, 3),
        torch.sum,
        torch.prod,
        live=(0, 7, 0),
        tolerance=F32,
        preserve=(aten.sum.default,),
    ),
    Case("product_of_all", fn(torch.prod), lambda: (noise(3, 7, low=-1.5, high=1.5),)),
    reduced(
        "integers",
        lambda s: (s, 33),
        lambda x: x.sum(-1),
        lambda x: x.sum(0, keepdim=True),
        torch.sum,
        make=lambda *shape: integers(*shape, low=-1000, high=1000),
    ),
    Case(
        "products_of_integers",
        several(lambda x: x.prod(-1), torch.prod),
        lambda s: (integers(s, 3, low=-3, high=4),),
        {"s": 7},
        (7, 1, 0, 5, 7),
        EXACT,
    ),
]

QUESTIONS = [
    Case(
        f"questions_{name}",
        several(
            torch.any,
            torch.all,
            lambda x: x.any(-1),
            lambda x: x.all(-1),
            lambda x: x.any(0, keepdim=True),
            lambda x: x.all(1, keepdim=True),
        ),
        lambda s, make=make: (make(s, 5),),
        {"s": 37},
        LENGTHS,
        EXACT,
        preserve=(aten.all.default, aten.all.dim, aten.any.dim),
    )
    for name, make in (
        ("of_flags", lambda *shape: cycle(*shape, period=7, offset=2, scale=1.0) != 0),
        ("of_floats", lambda *shape: cycle(*shape, period=3, offset=1, scale=4.0)),
        ("of_integers", lambda *shape: integers(*shape, low=-1, high=2)),
        ("always", lambda *shape: torch.ones(shape, dtype=torch.bool)),
        ("never", lambda *shape: torch.zeros(shape)),
    )
] + [
    Case(
        "questions_of_several_dims",
        several(lambda x: x.any((0, 2)), lambda x: x.all((1, 2), keepdim=True)),
        lambda s: (integers(2, s, 3, high=2) * integers(2, s, 3, high=2, seed=1) > 0,),
        {"s": 20},
        (20, 3, 1, 0, 20),
        EXACT,
        preserve=(aten.all.dims, aten.any.dims),
    ),
    Case(
        "questions_of_wide_rows",
        each(lambda x: x.any(-1)),
        lambda: (flags(3, 600), torch.zeros(3, 513).bool()),
        tolerance=EXACT,
    ),
]

CASES = EXTREMES + PLACES + PRODUCTS + QUESTIONS
