"""Gathers by index, paddings and resamplings of images."""

import executorch.backends.vulkan.custom_ops_lib  # noqa: F401  registers et_vk
import torch
import torch.nn.functional as F

from tools.fixtures.case import EXACT, F32, Case, fn, integers, noise


def picked(name, shape, dim, index, dtype=torch.int64):
    """index_select with a given index tensor."""
    return Case(
        name,
        fn(lambda x, i: x.index_select(dim, i)),
        lambda: (noise(*shape), torch.tensor(index, dtype=dtype)),
        tolerance=EXACT,
    )


def indexed(name, length, index):
    """x[index] of a vector."""
    return Case(name, fn(lambda x, i: x[i]), lambda: (noise(length), torch.tensor(index)), tolerance=EXACT)


class Table(torch.nn.Module):
    """A float embedding."""

    def __init__(self, rows, width):
        super().__init__()
        self.table = torch.nn.Embedding(rows, width)
        with torch.no_grad():
            self.table.weight.copy_(noise(rows, width))

    def forward(self, index):
        return self.table(index)


INDICES = [
    picked("index_select_vector", (5,), 0, [0, 2, 4, 1]),
    picked("index_select_rows", (4, 7), 0, [3, 0, 1]),
    picked("index_select_columns", (4, 7), 1, [5, 2, 0, 2]),
    picked("index_select_middle", (3, 5, 7), 1, [4, 0, 2]),
    picked("index_select_last", (3, 5, 7), 2, [6, 1, 4]),
    picked("index_select_int32", (4, 7), 1, [5, 2, 0, 2], torch.int32),
    Case(
        "index_select_live",
        fn(lambda x, i: x.index_select(0, i)),
        lambda s, n: (noise(s, 6), integers(n, high=max(s, 1))),
        {"s": 31, "n": 40},
        ((31, 40), (5, 40), (31, 1), (1, 3), (7, 0), (31, 40)),
        EXACT,
    ),
    indexed("index_vector", 16, [0, 15, 7, 7, 2]),
    indexed("index_reversed", 8, list(range(7, -1, -1))),
    indexed("index_ends", 32, [31, 0, 16]),
    indexed("index_repeats", 4, [2, 2, 2, 2, 0, 1]),
    Case(
        "index_live",
        fn(lambda x, i: x[i]),
        lambda n: (noise(16), integers(n, high=16)),
        {"n": 40},
        (40, 3, 1, 0, 40),
        EXACT,
    ),
    Case(
        "gather_rows",
        fn(lambda x, i: x.gather(0, i)),
        lambda s: (noise(9, 5), integers(s, 5, high=9)),
        {"s": 20},
        (20, 3, 1, 0, 20),
        EXACT,
    ),
    Case(
        "gather_last",
        fn(lambda x, i: x.gather(-1, i)),
        lambda s: (noise(s, 3, 9), integers(s, 3, 4, high=9)),
        {"s": 20},
        (20, 3, 1, 0, 20),
        EXACT,
    ),
    Case("embedding_small", lambda: Table(16, 8), lambda: (integers(2, 5, high=16),), tolerance=EXACT),
    Case("embedding_wide", lambda: Table(50, 768), lambda: (integers(1, 9, high=50),), tolerance=EXACT),
    Case(
        "embedding_odd_width", lambda: Table(16, 7), lambda s: (integers(2, s, high=16),), {"s": 20}, (20, 3, 1, 0, 20), EXACT
    ),
]

PADS = [
    Case("pad_last", fn(lambda x: F.pad(x, [1, 2])), lambda: (noise(3, 8),), tolerance=EXACT),
    Case("pad_two_dims", fn(lambda x: F.pad(x, [1, 1, 2, 0], value=0.5)), lambda: (noise(2, 4, 8),), tolerance=EXACT),
    Case("pad_live", fn(lambda x: F.pad(x, [0, 3, 1, 2])), lambda s: (noise(2, s, 5),), {"s": 20}, (20, 3, 1, 0, 20), EXACT),
    Case("pad_rank4", fn(lambda x: F.pad(x, [1, 0, 0, 1, 2, 1])), lambda: (noise(2, 3, 4, 5),), tolerance=EXACT),
]


def shuffled(name, ratio, *shape):
    return Case(name, fn(lambda x: F.pixel_shuffle(x, ratio)), lambda: (noise(*shape),), tolerance=EXACT)


def nearest(name, factor, *shape, **options):
    return Case(
        name,
        fn(lambda x: F.interpolate(x, scale_factor=factor, mode="nearest")),
        lambda: (noise(*shape),),
        tolerance=EXACT,
        **options,
    )


def bilinear(name, factor, align, *shape, **options):
    return Case(
        name,
        fn(lambda x: F.interpolate(x, scale_factor=factor, mode="bilinear", align_corners=align)),
        lambda: (noise(*shape),),
        **options,
    )


def sampled(name, image, grid):
    """grid_sample in the only mode that is delegated: bilinear, border padding, aligned corners. Some points lie outside."""
    return Case(
        name,
        fn(lambda x, g: F.grid_sample(x, g, mode="bilinear", padding_mode="border", align_corners=True)),
        lambda: (noise(*image), noise(*grid, low=-1.2, high=1.2)),
    )


def priors(name, stride, offset, *shape):
    return Case(name, fn(lambda x: torch.ops.et_vk.grid_priors(x, stride, offset)), lambda: (noise(*shape),), tolerance=F32)


IMAGES = [
    shuffled("pixel_shuffle_two", 2, 1, 8, 2, 3),
    shuffled("pixel_shuffle_batch", 2, 2, 4, 3, 3),
    shuffled("pixel_shuffle_three", 3, 1, 9, 2, 2),
    shuffled("pixel_shuffle_rank3", 2, 4, 2, 2),
    Case(
        "pixel_shuffle_live",
        fn(lambda x: F.pixel_shuffle(x, 2)),
        lambda h: (noise(1, 4, h, 3),),
        {"h": 9},
        (9, 2, 1, 0, 9),
        EXACT,
    ),
    nearest("nearest_two", 2, 1, 8, 36, 36, large=True),
    nearest("nearest_two_large", 2, 1, 8, 72, 72, large=True),
    nearest("nearest_odd", 2, 1, 4, 5, 7),
    nearest("nearest_fraction", 1.6, 1, 2, 5, 5),
    bilinear("bilinear_two", 2, False, 1, 8, 36, 36, large=True),
    bilinear("bilinear_fraction", 1.6, False, 1, 2, 5, 5),
    bilinear("bilinear_odd", 2, False, 1, 4, 5, 7),
    bilinear("bilinear_aligned", 2, True, 1, 4, 7, 7),
    bilinear("bilinear_aligned_fraction", 1.6, True, 1, 2, 5, 5),
    sampled("grid_sampler", (1, 2, 4, 4), (1, 3, 3, 2)),
    sampled("grid_sampler_odd", (1, 1, 3, 5), (1, 4, 4, 2)),
    sampled("grid_sampler_batch", (2, 3, 4, 4), (2, 2, 6, 2)),
    Case(
        "grid_sampler_live",
        fn(lambda x, g: F.grid_sample(x, g, mode="bilinear", padding_mode="border", align_corners=True)),
        lambda h: (noise(1, 2, 4, 5), noise(1, h, 3, 2, low=-1.2, high=1.2)),
        {"h": 9},
        (9, 2, 1, 9),
    ),
    priors("grid_priors", 8, 0.5, 1, 3, 8, 10),
    priors("grid_priors_no_offset", 16, 0.0, 1, 3, 4, 4),
    priors("grid_priors_odd", 4, 0.0, 1, 3, 5, 7),
]

CASES = INDICES + PADS + IMAGES
