"""Views, slices, permutes, concatenations and other operators that only move elements."""

import torch

from tools.fixtures.case import EXACT, Case, each, flags, fn, integers, noise, ramp, several

LENGTHS = (37, 5, 1, 36, 0, 37)


aten = torch.ops.aten


def moved(name, function, shape, lengths=LENGTHS, low=1, **options):
    """A function of one tensor whose shape is shape(s).

    `low` is a lower bound that torch.export asks for; the program itself also runs below it.
    """
    return Case(name, fn(function), lambda s: (noise(*shape(s)),), {"s": (low, 37)}, lengths, EXACT, **options)


def fixed(name, shape, *functions):
    """Functions of one static tensor, an output each."""
    return Case(name, several(*functions), lambda: (noise(*shape),), tolerance=EXACT)


def typed(name, function, shape, lengths=LENGTHS):
    """The same movement for bool, int32 and int64 elements."""

    def inputs(s):
        wide = {"low": -(2**31), "high": 2**31 - 1}
        return flags(*shape(s)), integers(*shape(s), **wide, dtype=torch.int32), integers(*shape(s), **wide)

    return Case(f"{name}_integers", each(function), inputs, {"s": 37}, lengths, EXACT)


VIEWS = [
    moved("view_merge", lambda x: x.reshape(-1, 4), lambda s: (s, 3, 4)),
    moved("view_split", lambda x: x.reshape(x.shape[0], 3, 4), lambda s: (s, 12)),
    moved("view_flatten", lambda x: x.reshape(-1), lambda s: (2, s, 4)),
    moved("view_add_dims", lambda x: x.reshape(1, 2, x.shape[1], 4), lambda s: (2, s, 4)),
    Case(
        "view_of_a_batch",
        fn(lambda x: (x.reshape(2, x.shape[1], 4, 4), x.reshape(-1, 16))),
        lambda s: (noise(2, s, 16),),
        {"s": 96},
        (96, 48, 24, 7, 1, 0, 96),
        EXACT,
    ),
    Case(
        "view_of_one_row",
        fn(lambda x: (x[0].reshape(-1, 16), x.reshape(x.shape[0] * x.shape[1], 16))),
        lambda b, s: (noise(b, s, 16),),
        {"b": 3, "s": 48},
        ((3, 48), (2, 24), (1, 48), (3, 1), (2, 0), (3, 48)),
        EXACT,
    ),
    moved("view_chain", lambda x: x.reshape(-1).reshape(-1, 2).reshape(x.shape[0], 12), lambda s: (s, 3, 4)),
    moved("view_is_an_output", lambda x: (x.reshape(-1, 4), x + x), lambda s: (s, 3, 4)),
    moved("squeeze", lambda x: (x.squeeze(0), x.squeeze((0, 2))), lambda s: (1, s, 1, 4)),
    moved("unsqueeze", lambda x: (x.unsqueeze(0), x.unsqueeze(1), x.unsqueeze(-1)), lambda s: (s, 4)),
    moved("clone", lambda x: x.clone(), lambda s: (s, 4)),
    typed("view", lambda x: x.reshape(-1, 3).clone(), lambda s: (s, 5, 3)),
]

# Operators that the exporter mostly turns into others.
KEPT = [
    moved("squeeze_dim", lambda x: (x.squeeze(0), x.squeeze(2)), lambda s: (1, s, 1, 4), preserve=(aten.squeeze.dim,)),
    moved(
        "transpose",
        lambda x: (x.transpose(0, 1), x.transpose(-1, 0)),
        lambda s: (s, 3, 5),
        preserve=(aten.transpose.int,),
    ),
    moved("t", lambda x: (x.t(), x.t() + 1.0), lambda s: (s, 5), preserve=(aten.t.default,)),
    moved("unbind", lambda x: x.unbind(1), lambda s: (s, 3, 5), preserve=(aten.unbind.int,)),
    moved(
        "split_into_equal_parts",
        lambda x: (*x.split(3, 1), *x.split(4, -1)),
        lambda s: (s, 8, 4),
        preserve=(aten.split.Tensor,),
    ),
    moved(
        "alias",
        lambda x: (aten.alias_copy(x) + 1.0, aten.alias_copy(x)),
        lambda s: (s, 5),
        preserve=(aten.alias_copy.default,),
    ),
    moved("clone_in_the_middle", lambda x: -x.abs().clone(), lambda s: (s, 5), delegate=False),
    moved("permute_kernel_call", lambda x: x.permute(2, 0, 1) + 1.0, lambda s: (s, 3, 5), delegate=False),
    moved("unfold", lambda x: (x.unfold(1, 3, 1), x.unfold(-1, 4, 3), x.unfold(2, 5, 5)), lambda s: (s, 7, 11)),
    moved("unfold_the_live_dim", lambda x: x.unfold(0, 4, 2), lambda s: (s, 5), (37, 4, 5, 36, 7, 37), low=5),
]


def everything(name, *functions):
    """The same movements of bytes: bools, 8-bit integers with and without a sign."""

    def inputs(s):
        eight = {"low": -128, "high": 127}
        return (
            flags(s, 5, 3),
            integers(s, 5, 3, high=256, dtype=torch.uint8),
            integers(s, 5, 3, **eight, dtype=torch.int8),
        )

    every = lambda *inputs: tuple(function(x) for x in inputs for function in functions)
    return Case(name, fn(every), inputs, {"s": 37}, LENGTHS, EXACT)


BYTES = [
    everything("bytes_cut", lambda x: x[:, 1:4], lambda x: x[..., ::2], lambda x: x[:, 2], lambda x: x[..., -1]),
    everything("bytes_ordered", lambda x: x.permute(2, 0, 1), lambda x: x.flip(0, 2), lambda x: x.permute(1, 2, 0)),
    everything(
        "bytes_repeated",
        lambda x: x.repeat(2, 1, 3),
        lambda x: x[:, :1].expand(-1, 4, 3),
        lambda x: torch.cat((x, x), 2),
    ),
    everything("bytes_split", lambda x: x.split([2, 3], 1)[1], lambda x: x.unsqueeze(1), lambda x: x.reshape(-1, 15)),
]

SLICES = [
    fixed("select", (3, 8, 4), lambda x: x[1], lambda x: x[:, 2], lambda x: x[..., 3], lambda x: x[:, -1]),
    Case(
        "select_last_row_of_each_length",
        fn(lambda x: (x[:, -1], x.select(0, -1))),
        lambda s: (noise(2, s, 24),),
        {"s": 128},
        (128, 32, 1, 7, 128),
        EXACT,
    ),
    Case(
        "select_rank4",
        fn(lambda x: x.select(0, -1)),
        lambda s: (ramp(2, 1, s, 64),),
        {"s": 64},
        (64, 32, 1, 64),
        EXACT,
    ),
    fixed(
        "slice",
        (3, 8, 4),
        lambda x: x[:, 1:5],
        lambda x: x[..., 1:3],
        lambda x: x[:, 0:8:2],
        lambda x: x[:, 1:8:3],
        lambda x: x[:, 1:-1],
        lambda x: x[:, -3:],
        lambda x: x[:, 3:3],
    ),
    moved("slice_clamped", lambda x: x[:, 2:20], lambda s: (2, s, 3), (37, 21, 19, 3, 2, 37), low=20),
    moved("slice_drop_ends", lambda x: x[1:-1], lambda s: (s, 6), (37, 3, 2, 36, 37), low=4),
    moved("slice_every_second", lambda x: x[::2], lambda s: (s, 6), low=4),
    moved("slice_last_three", lambda x: x[-3:], lambda s: (s, 6), (37, 4, 3, 36), low=4),
    typed("slice", lambda x: x[:, 1:3].clone(), lambda s: (s, 5, 3)),
    typed("select", lambda x: x[:, -2].clone(), lambda s: (s, 5, 3)),
]

JOINS = [
    Case(
        "cat_three", fn(lambda *x: torch.cat(x)), lambda: tuple(noise(2, 3, seed=i) for i in range(3)), tolerance=EXACT
    ),
    Case(
        "cat_dims",
        several(
            lambda a, b: torch.cat((a, b), 1), lambda a, b: torch.cat((a, b, a), 2), lambda a, b: torch.cat((b, a), -3)
        ),
        lambda: (noise(2, 3, 4), noise(2, 3, 4, seed=1)),
        tolerance=EXACT,
    ),
    Case(
        "cat_widths",
        fn(lambda *x: torch.cat(x, 1)),
        lambda: tuple(noise(2, n, 4, seed=n) for n in (1, 3, 2)),
        tolerance=EXACT,
    ),
    Case(
        "cat_live",
        fn(lambda a, b: torch.cat((a, b, a), 1)),
        lambda s, t: (noise(2, s, 3), noise(2, t, 3, seed=1)),
        {"s": 17, "t": 20},
        ((17, 20), (1, 20), (17, 1), (0, 5), (5, 0), (16, 19), (17, 20)),
        EXACT,
    ),
    Case(
        "cat_makes_a_live_dim",
        fn(lambda a, b: torch.cat((a, b)).reshape(-1, 3, 2).sigmoid()),
        lambda s: (noise(s, 6), noise(4, 6, seed=1)),
        {"s": 17},
        (17, 3, 1, 0, 17),
    ),
    typed("cat", lambda x: torch.cat((x, x), 1), lambda s: (s, 3)),
    moved("split", lambda x: x.split([2, 3, 3], 1), lambda s: (s, 8, 4)),
    moved("split_rows", lambda x: x.split([3, 2]), lambda s: (5, s)),
    moved("split_last", lambda x: x.split([4, 4], -1), lambda s: (s, 8)),
    moved("split_reorder", lambda x: torch.cat([x.split([2, 3, 3], 1)[i] for i in (1, 0, 2)], 1), lambda s: (s, 8, 4)),
]

PERMUTES = [
    fixed("permute_rank3", (2, 3, 4), lambda x: x.permute(2, 0, 1), lambda x: x.permute(0, 2, 1)),
    fixed("permute_rank4", (2, 3, 4, 5), lambda x: x.permute(0, 2, 1, 3), lambda x: x.permute(3, 1, 0, 2)),
    fixed("permute_heads", (1, 8, 4, 16), lambda x: x.permute(0, 2, 1, 3)),
    fixed("permute_transpose", (3, 5), lambda x: x.permute(1, 0)),
    fixed("permute_rank6", (2, 3, 2, 3, 2, 3), lambda x: x.permute(5, 0, 4, 1, 3, 2)),
    moved("permute_live", lambda x: x.permute(0, 2, 1, 3), lambda s: (2, s, 3, 4)),
    moved("permute_live_last", lambda x: x.permute(2, 1, 0), lambda s: (3, 4, s)),
    typed("permute", lambda x: x.permute(1, 0, 2).clone(), lambda s: (s, 5, 3)),
    fixed("expand", (1, 4), lambda x: x.expand(3, 4), lambda x: x.expand(2, 3, 4)),
    fixed("expand_middle", (2, 1, 5), lambda x: x.expand(2, 4, 5)),
    fixed("expand_vector", (4,), lambda x: x.expand(3, 4)),
    Case(
        "expand_beyond_one_dimension_of_workgroups",
        fn(lambda x: x.expand(64 * 65535 + 1)),
        lambda: (noise(1),),
        tolerance=EXACT,
        large=True,
    ),
    Case(
        "expand_live_size",
        fn(lambda x: x.expand(4, x.shape[1]).clone()),
        lambda n: (ramp(1, n),),
        {"n": 8},
        (8, 3, 1, 7, 8),
        EXACT,
    ),
    Case(
        "expand_inferred_size",
        fn(lambda x: x.expand(4, -1).clone()),
        lambda n: (ramp(1, n),),
        {"n": 8},
        (8, 3, 1, 7, 8),
        EXACT,
    ),
    fixed("repeat_vector", (3,), lambda x: x.repeat(2)),
    fixed("repeat", (3, 5), lambda x: x.repeat(2, 2), lambda x: x.repeat(1, 3, 2), lambda x: x.repeat(2, 3, 1)),
    fixed("repeat_rank3", (3, 5, 7), lambda x: x.repeat(2, 1, 2)),
    moved("repeat_live", lambda x: x.repeat(2, 3), lambda s: (s, 5)),
    typed("repeat", lambda x: x.repeat(2, 3), lambda s: (s, 5)),
    fixed("flip", (37, 41), lambda x: x.flip(-1), lambda x: x.flip(0)),
    fixed("flip_rank3", (5, 7, 11), lambda x: x.flip(0, 2), lambda x: x.flip(1)),
    fixed("flip_rank4", (3, 5, 7, 11), lambda x: x.flip(1, 3)),
    moved("flip_live", lambda x: x.flip(0, 1), lambda s: (s, 5, 3)),
    typed("flip", lambda x: x.flip(0), lambda s: (s, 5)),
]

CASES = VIEWS + KEPT + BYTES + SLICES + JOINS + PERMUTES
