"""Operators at the edges of what they accept: rank 8, rank 0, NaN, and programs of unusual shape."""

import torch
import torch.nn.functional as F

from tools.fixtures.case import EXACT, F32, Case, cycle, fn, integers, noise, several

LIVE = (3, 1, 2, 0, 3)
FILLED = (3, 1, 2, 3)


def eight(s, **options):
    """A tensor of rank 8 whose dims do not merge when every second one is treated differently."""
    return noise(2, s, 2, 1, 3, 2, 2, 3, **options)


def rank8(name, *functions, make=lambda s: (eight(s),), live=LIVE, tolerance=EXACT, **options):
    return Case(name, several(*functions), make, {"s": 3}, live, tolerance, **options)


ODD_DIMS = (1, 3, 5, 7)

RANK8 = [
    rank8("rank8_permute", lambda x: x.permute(7, 0, 6, 1, 5, 2, 4, 3), lambda x: x.permute(1, 0, 3, 2, 5, 4, 7, 6)),
    rank8("rank8_flip", lambda x: x.flip(0, 2, 4, 6), lambda x: x.flip(*ODD_DIMS)),
    rank8("rank8_cut", lambda x: x[..., 1:], lambda x: x[:, :, 1, :, ::2], lambda x: x.select(-2, 1)),
    rank8("rank8_repeat", lambda x: x.repeat(2, 1, 2, 1, 1, 2, 1, 1)),
    rank8("rank8_cat", lambda x: torch.cat((x, x), 4), lambda x: torch.cat((x, x, x), -1), lambda x: torch.cat((x, x))),
    rank8("rank8_bytes", lambda x: (x > 0).permute(7, 0, 6, 1, 5, 2, 4, 3), lambda x: (x > 0).flip(0, 2, 4, 6)),
    rank8(
        "rank8_sums",
        lambda x: x.sum((0, 2, 4, 6)),
        lambda x: x.sum(ODD_DIMS, keepdim=True),
        lambda x: x.amax((0, 2, 4, 6)),
        lambda x: x.argmax(4),
        live=FILLED,
        tolerance=F32,
    ),
    rank8("rank8_softmax", lambda x: F.softmax(x, 4), lambda x: F.log_softmax(x, 0), tolerance=F32),
    rank8("rank8_norm", lambda x: F.layer_norm(x, (2, 3)), lambda x: F.layer_norm(x, (3,)), tolerance=F32),
    rank8("rank8_linear", F.linear, make=lambda s: (eight(s), noise(5, 3)), tolerance=F32),
    rank8(
        "rank8_index",
        lambda x: x.index_select(4, torch.tensor([2, 0, 1, 1])),
        lambda x: x[:, :, torch.tensor([1, 0, 1])],
    ),
    rank8("rank8_pad", lambda x: F.pad(x, (1, 2, 0, 1, 0, 0, 2, 0)), lambda x: F.pad(x, (-1, 0, 1, -1))),
    rank8("rank8_unsqueeze", lambda x: x[0].unsqueeze(3), lambda x: x.squeeze(3), lambda x: x.reshape(-1)),
    rank8(
        "rank8_broadcast",
        lambda x, y: x + y,
        lambda x, y: x > y,
        lambda x, y: torch.where(x > 0, x, y),
        make=lambda s: (eight(s), noise(2, 1, 2, 1, 1, 2, 1, 3, seed=1)),
        tolerance=F32,
    ),
    rank8(
        "rank8_both_broadcast",
        lambda x, y: x * y,
        lambda x, y: torch.logical_xor(x > 0, y > 0),
        make=lambda s: (noise(2, 1, 2, 1, 3, 1, 2, 1), noise(1, s, 1, 2, 1, 2, 1, 3, seed=1)),
        tolerance=F32,
    ),
    rank8("rank8_expand", lambda x: x[:, :, :1, :, :1].expand(-1, -1, 3, 2, 4, -1, -1, -1)),
    rank8(
        "rank8_gather",
        lambda x, i: x.gather(4, i),
        make=lambda s: (eight(s), integers(2, s, 2, 1, 4, 2, 2, 3, high=3)),
    ),
]

SCALARS = [
    Case(
        "rank0",
        several(
            lambda x, y, f: x * y + 1.0,
            lambda x, y, f: x > y,
            lambda x, y, f: torch.where(f, x, y),
            lambda x, y, f: x.reshape(1, 1),
            lambda x, y, f: x.expand(3, 2).clone(),
            lambda x, y, f: x.sum(),
            lambda x, y, f: x.float().tanh(),
            lambda x, y, f: torch.stack((x, y)),
        ),
        lambda: (torch.tensor(0.75), torch.tensor(-0.5), torch.tensor(True)),
    ),
    Case(
        "rank1",
        several(
            lambda x, w: F.linear(x, w),
            lambda x, w: F.softmax(x, 0),
            lambda x, w: F.layer_norm(x, (12,)),
            lambda x, w: x.permute(0).flip(0),
            lambda x, w: x.argmax(0),
            lambda x, w: torch.mv(w, x),
            lambda x, w: torch.dot(x, x),
        ),
        lambda: (noise(12), noise(5, 12)),
    ),
]

NAN = float("nan")


def spoilt(*shape):
    """Every seventh element is NaN."""
    values = cycle(*shape, period=5, offset=2, scale=1.0)
    values.view(-1)[3::7] = NAN
    return values


NOT_A_NUMBER = [
    Case(
        "nan_spreads",
        several(
            torch.relu,
            lambda x: x.clamp(-1, 1),
            lambda x: x.clamp(min=0),
            lambda x: F.hardtanh(x),
            lambda x: F.leaky_relu(x, 0.1),
            torch.abs,
            torch.tanh,
            torch.sigmoid,
            lambda x: torch.maximum(x, x.flip(0)),
            lambda x: torch.minimum(x, x.flip(0)),
            lambda x: x.amax(-1),
            lambda x: x.amin(-1),
            lambda x: x.sum(-1),
            lambda x: F.softmax(x, -1),
        ),
        lambda s: (spoilt(s, 5),),
        {"s": 20},
        (20, 3, 1, 0, 20),
    ),
    Case(
        "nan_is_the_largest",
        several(lambda x: x.argmax(-1), lambda x: x.argmin(-1)),
        lambda: (spoilt(9, 6),),
        tolerance=EXACT,
    ),
    Case(
        "nan_among_many",
        several(lambda x: x.amax(-1), lambda x: x.argmin(-1)),
        lambda: (spoilt(2, 700),),
        tolerance=EXACT,
    ),
    Case(
        "infinities",
        several(
            torch.exp,
            torch.tanh,
            torch.sigmoid,
            torch.relu,
            F.gelu,
            lambda x: F.softmax(x[1:4], 0),
            lambda x: x.amax(0),
        ),
        lambda: (torch.tensor([float("inf"), -1e30, 0.0, 88.0, -104.0, float("-inf")]),),
    ),
]

PROGRAMS = [
    Case(
        "input_is_an_output",
        fn(lambda x, y: (x, x + y, y)),
        lambda s: (noise(s, 5), noise(s, 5, seed=1)),
        {"s": 9},
        (9, 1, 0, 9),
    ),
    Case(
        "one_tensor_twice",
        fn(lambda x: (y := x.sigmoid(), y.reshape(-1), y)),
        lambda s: (noise(s, 5),),
        {"s": 9},
        (9, 1, 0, 9),
    ),
    Case("unused_input", fn(lambda x, y: x.sigmoid()), lambda s: (noise(s, 5), noise(3, s)), {"s": 9}, (9, 1, 0, 9)),
    Case(
        "views_of_one_tensor",
        fn(lambda x: (x.reshape(-1, 2) + 1.0, x.unsqueeze(0) * 2.0, x.reshape(-1).flip(0), x)),
        lambda s: (noise(s, 4),),
        {"s": 9},
        (9, 1, 0, 9),
    ),
]

CASES = RANK8 + SCALARS + NOT_A_NUMBER + PROGRAMS
