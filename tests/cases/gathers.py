"""Gathers by index, paddings and resamplings of images."""

import executorch.backends.vulkan.custom_ops_lib  # noqa: F401  registers et_vk
import torch
import torch.nn.functional as F

from tools.fixtures.case import EXACT, F32, Case, fn, integers, noise, several


def picked(name, shape, dim, *indices, dtype=torch.int64):
    """index_select of one tensor with several index tensors."""

    def select(x, *indices):
        return tuple(x.index_select(dim, index) for index in indices)

    inputs = lambda: (noise(*shape), *(torch.tensor(index, dtype=dtype) for index in indices))
    return Case(name, fn(select), inputs, tolerance=EXACT)


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
    picked("index_select_columns", (4, 7), 1, [5, 2, 0, 2], [6], [0, 1, 2, 3, 4, 5, 6]),
    picked("index_select_middle", (3, 5, 7), 1, [4, 0, 2]),
    picked("index_select_last", (3, 5, 7), 2, [6, 1, 4]),
    picked("index_select_int32", (4, 7), 1, [5, 2, 0, 2], dtype=torch.int32),
    Case(
        "index_select_live",
        fn(lambda x, i: x.index_select(0, i)),
        lambda s, n: (noise(s, 6), integers(n, high=max(s, 1))),
        {"s": 31, "n": 40},
        ((31, 40), (5, 40), (31, 1), (1, 3), (7, 0), (31, 40)),
        EXACT,
    ),
    Case(
        "index",
        fn(lambda x, *indices: tuple(x[index] for index in indices)),
        lambda: (
            noise(32),
            *map(torch.tensor, ([0, 15, 7, 7, 2], list(range(7, -1, -1)), [31, 0, 16], [2, 2, 2, 2, 0, 1])),
        ),
        tolerance=EXACT,
    ),
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
    Case("embedding_in_parts", lambda: Table(300, 20), lambda: (integers(2, 9, high=300),), tolerance=EXACT),  # at 10 KiB
    Case(
        "embedding_odd_width",
        lambda: Table(16, 7),
        lambda s: (integers(2, s, high=16),),
        {"s": 20},
        (20, 3, 1, 0, 20),
        EXACT,
    ),
]

PADS = [
    Case("pad_last", fn(lambda x: F.pad(x, [1, 2])), lambda: (noise(3, 8),), tolerance=EXACT),
    Case("pad_two_dims", fn(lambda x: F.pad(x, [1, 1, 2, 0], value=0.5)), lambda: (noise(2, 4, 8),), tolerance=EXACT),
    Case(
        "pad_live",
        fn(lambda x: F.pad(x, [0, 3, 1, 2])),
        lambda s: (noise(2, s, 5),),
        {"s": 20},
        (20, 3, 1, 0, 20),
        EXACT,
    ),
    Case("pad_rank4", fn(lambda x: F.pad(x, [1, 0, 0, 1, 2, 1])), lambda: (noise(2, 3, 4, 5),), tolerance=EXACT),
]


def shuffled(name, ratio, *shape):
    return Case(name, fn(lambda x: F.pixel_shuffle(x, ratio)), lambda: (noise(*shape),), tolerance=EXACT)


def resized(name, shape, *modes, tolerance=F32, **options):
    """An image at several factors: modes are (factor, align_corners), or (factor,) for the nearest pixel."""

    def resize(factor, align=None):
        mode = "nearest" if align is None else "bilinear"
        return lambda x: F.interpolate(x, scale_factor=factor, mode=mode, align_corners=align)

    return Case(
        name, several(*(resize(*mode) for mode in modes)), lambda: (noise(*shape),), tolerance=tolerance, **options
    )


def sampled(name, image, grid):
    """grid_sample in the only mode that is delegated: bilinear, border padding, aligned corners. Some points lie outside."""
    return Case(
        name,
        fn(lambda x, g: F.grid_sample(x, g, mode="bilinear", padding_mode="border", align_corners=True)),
        lambda: (noise(*image), noise(*grid, low=-1.2, high=1.2)),
    )


def priors(name, stride, offset, *shape):
    return Case(
        name, fn(lambda x: torch.ops.et_vk.grid_priors(x, stride, offset)), lambda: (noise(*shape),), tolerance=F32
    )


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
    resized("nearest", (1, 4, 5, 7), (2,), tolerance=EXACT),
    resized("nearest_fraction", (1, 2, 5, 5), (1.6,), tolerance=EXACT),
    resized("nearest_36", (1, 8, 36, 36), (2,), tolerance=EXACT, large=True),
    resized("nearest_72", (1, 8, 72, 72), (2,), tolerance=EXACT, large=True),
    resized("bilinear", (1, 4, 5, 7), (2, False), (2, True)),
    resized("bilinear_fraction", (1, 2, 5, 5), (1.6, False), (1.6, True)),
    resized("bilinear_square", (1, 4, 7, 7), (2, True)),
    resized("bilinear_36", (1, 8, 36, 36), (2, False), large=True),
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
