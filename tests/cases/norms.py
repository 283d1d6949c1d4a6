"""Norms, reductions and softmax."""

import torch
import torch.nn.functional as F

from tools.fixtures.case import ACCUMULATED, F32, Case, Function, Sweep, noise, ramp, several

LENGTHS = (37, 5, 1, 36, 0, 37)


class RmsNorm(torch.nn.Module):
    """In the form that the partitioner fuses into one operator."""

    def __init__(self, width, weight=None, eps=1e-6):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.linspace(0.5, 1.5, width) if weight is None else weight)
        self.eps = eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class Sequence(torch.nn.Module):
    """A function of x and of norms over its last dim."""

    def __init__(self, function, width, count=1):
        super().__init__()
        self.norms = torch.nn.ModuleList(RmsNorm(width, torch.linspace(0.5 + i, 1.5 - i, width)) for i in range(count))
        self.function = function

    def forward(self, x):
        return self.function(x, *self.norms)


def rms(name, *shape, weight=None):
    return Case(name, lambda: RmsNorm(shape[-1], weight), lambda: (noise(*shape),), tolerance=F32)


def chain(name, function, live, count=1, width=24, bound=128):
    return Case(
        name,
        lambda: Sequence(function, width, count),
        lambda s: (ramp(1, 1, s, width),),
        {"s": bound},
        live,
        ACCUMULATED,
    )


def widths(name, module, rows, sizes):
    """module(width) on a [rows, width] input for each width, in one program."""
    return Case(
        name,
        lambda: Sweep(module(width) for width in sizes),
        lambda: tuple(noise(rows, width) for width in sizes),
    )


# Both sides of every vector, subgroup and workgroup size.
WIDTHS = (1, 7, 16, 31, 32, 33, 63, 64, 96, 100, 104, 130, 255, 256, 257, 440, 511, 512, 513)
WIDE = (896, 1536, 2048, 4096)

RMS_NORMS = [
    widths("rms_norm_widths", RmsNorm, 2, WIDTHS),
    widths("rms_norm_wide", RmsNorm, 1, WIDE),
    widths("rms_norm_8192", RmsNorm, 1, (8192,)),
    rms("rms_norm_896", 1, 1, 7, 896),
    rms("rms_norm_rank4", 1, 5, 4, 128),
    rms("rms_norm_many_rows", 1, 1, 257, 33),
    rms("rms_norm_zero_weight", 1, 1, 4, 64, weight=torch.zeros(64)),
    rms("rms_norm_negative_weight", 1, 1, 4, 64, weight=torch.linspace(-1.5, -0.5, 64)),
    Case("rms_norm_zero_input", lambda: RmsNorm(64), lambda: (torch.zeros(1, 1, 4, 64),)),
    Case("rms_norm_live", lambda: RmsNorm(64), lambda s: (ramp(1, 1, s, 64),), {"s": 64}, (64, 1, 63, 8, 0, 64), F32),
    Case(
        "rms_norm_live_below_the_bound_first",
        lambda: RmsNorm(24),
        lambda s: (ramp(1, 1, s, 24),),
        {"s": 128},
        (64, 1, 8, 128, 7, 128),
        ACCUMULATED,
    ),
    Case(
        "rms_norm_two_live_dims",
        lambda: RmsNorm(16),
        lambda b, s: (noise(b, s, 16),),
        {"b": 4, "s": 40},
        ((4, 40), (1, 40), (4, 1), (3, 7), (4, 40)),
    ),
    chain("rms_chain", lambda x, a, b: b(a(x)), (128, 16, 1, 128), count=2),
    chain("rms_residual", lambda x, a: a(x) + x, (128, 32, 1, 64, 128)),
    chain("rms_mul", lambda x, a: a(x) * x, (128, 32, 1, 64, 128)),
    chain("rms_residual_depth_two", lambda x, a, b: x + b(a(x)), (128, 64, 7, 1, 64), count=2),
    chain("rms_residual_depth_two_below_the_bound_first", lambda x, a, b: x + b(a(x)), (64, 128, 7, 64), count=2),
    chain(
        "rms_residuals_of_three_depths",
        lambda x, a, b, c: x + c(b(a(x)) + a(x)) + torch.sigmoid(b(x)),
        (33, 128, 64, 7, 1, 64),
        count=3,
    ),
    Case("torch_rms_norm", lambda: torch.nn.RMSNorm(24), lambda s: (ramp(1, s, 24),), {"s": 64}, (64, 7, 1, 63), F32),
]


def layer(name, *shape, affine=True):
    def module():
        norm = torch.nn.LayerNorm(shape[-1], elementwise_affine=affine)
        if affine:
            with torch.no_grad():
                norm.weight.copy_(torch.linspace(0.5, 1.5, shape[-1]))
                norm.bias.copy_(torch.linspace(-1, 1, shape[-1]))
        return norm

    return Case(name, module, lambda: (noise(*shape),))


LAYER_NORMS = [
    layer("layer_norm", 4, 128),
    layer("layer_norm_768", 1, 16, 768),
    layer("layer_norm_not_affine", 4, 128, affine=False),
    layer("layer_norm_narrow", 8, 32),
    layer("layer_norm_132", 4, 132),
    layer("layer_norm_1024", 1, 8, 1024),
    layer("layer_norm_odd", 3, 5, 33),
    layer("layer_norm_one", 5, 1),
    Case("layer_norm_two_dims", lambda: torch.nn.LayerNorm((5, 7)), lambda s: (noise(s, 5, 7),), {"s": 37}, LENGTHS),
    Case("layer_norm_live", lambda: torch.nn.LayerNorm(20), lambda s: (noise(2, s, 20),), {"s": 37}, LENGTHS),
]


def group(name, groups, *shape, bounds=None, live=((),), affine=True):
    """A group norm of a [N, C, ...] tensor; `shape` is a function of the live dims if there are any."""

    def module():
        channels = (shape[0](1) if bounds else shape)[1]
        norm = torch.nn.GroupNorm(groups, channels, affine=affine)
        if affine:
            with torch.no_grad():
                norm.weight.copy_(torch.linspace(0.5, 1.5, channels))
                norm.bias.copy_(torch.linspace(-1, 1, channels))
        return norm

    inputs = lambda *dims: (noise(*(shape[0](*dims) if bounds else shape)),)
    return Case(name, module, inputs, bounds or {}, live)


class BatchNorm(torch.nn.Module):
    """With statistics and weights that all differ."""

    def __init__(self, kind, channels, affine=True):
        super().__init__()
        self.norm = kind(channels, affine=affine).eval()
        with torch.no_grad():
            self.norm.running_mean.copy_(torch.linspace(-0.5, 0.5, channels))
            self.norm.running_var.copy_(torch.linspace(0.3, 2.0, channels))
            if affine:
                self.norm.weight.copy_(torch.linspace(0.5, 1.5, channels))
                self.norm.bias.copy_(torch.linspace(-1, 1, channels))

    def forward(self, x):
        return self.norm(x)


def batch(name, channels, shape, bounds=None, live=((),), kind=torch.nn.BatchNorm2d, affine=True):
    return Case(
        name, lambda: BatchNorm(kind, channels, affine), lambda *dims: (noise(*shape(*dims)),), bounds or {}, live
    )


CHANNEL_NORMS = [
    group("group_norm", 2, 2, 4, 3, 5),
    group("group_norm_three_groups", 3, 1, 6, 2, 2),
    group("group_norm_one_group", 1, 1, 4, 3, 3),
    group("group_norm_a_group_a_channel", 6, 2, 6, 3, 3),
    group("group_norm_not_affine", 2, 2, 4, 3, 5, affine=False),
    group("group_norm_rank3", 2, 2, 4, 17),
    group("group_norm_live", 2, lambda h: (2, 4, h, 3), bounds={"h": 9}, live=(9, 2, 1, 8, 9)),
    group("group_norm_live_batch", 2, lambda b: (b, 4, 5), bounds={"b": 9}, live=(9, 2, 1, 0, 9)),
    batch("batch_norm", 8, lambda: (1, 8, 12, 12)),
    batch("batch_norm_not_affine", 8, lambda: (1, 8, 12, 12), affine=False),
    batch("batch_norm_odd", 16, lambda: (1, 16, 5, 7)),
    batch(
        "batch_norm_live",
        6,
        lambda b, h: (b, 6, h, 5),
        {"b": 3, "h": 9},
        ((3, 9), (1, 9), (3, 1), (2, 5), (0, 5), (3, 0), (3, 9)),
    ),
    batch("batch_norm_rank3", 6, lambda s: (2, 6, s), {"s": 20}, (20, 3, 1, 0, 20), kind=torch.nn.BatchNorm1d),
    batch("batch_norm_rank2", 6, lambda s: (s, 6), {"s": 20}, (20, 3, 1, 0, 20), kind=torch.nn.BatchNorm1d),
]


def reduced(name, shape, *functions, live=LENGTHS):
    """Functions of one tensor with the shape shape(s), an output each."""
    return Case(name, several(*functions), lambda s: (noise(*shape(s)),), {"s": 37}, live)


def both(*arguments, **options):
    """The mean and the sum with the same arguments."""
    return (lambda x: x.mean(*arguments, **options)), (lambda x: x.sum(*arguments, **options))


FILLED = (37, 5, 1, 36, 37)

REDUCTIONS = [
    reduced("reduce_last", lambda s: (s, 3, 33), *both(-1), *both(-1, keepdim=True)),
    reduced("reduce_first", lambda s: (5, s, 3), *both(0), *both(0, keepdim=True)),
    reduced("reduce_middle", lambda s: (s, 7, 6), *both(1), *both(1, keepdim=True)),
    reduced("reduce_two_dims", lambda s: (2, s, 7, 6), *both((2, 3)), *both((-1, -2), keepdim=True)),
    reduced("reduce_dims_apart", lambda s: (4, s, 6), *both((0, 2)), *both((0, 2), keepdim=True)),
    reduced("reduce_the_live_dim", lambda s: (3, s, 5), *both(1), *both(1, keepdim=True), live=FILLED),
    reduced("sum_over_an_empty_dim", lambda s: (3, s, 5), lambda x: x.sum(1), live=(0, 37, 0)),
    reduced("mul_by_the_mean", lambda s: (1, s, 24), lambda x: x * x.mean(-1, keepdim=True), live=(37, 20, 1, 36, 37)),
    reduced("mean_of_a_chain", lambda s: (2, s, 24), lambda x: x - (x * x).mean(-1, keepdim=True).sqrt()),
    widths("sum_widths", lambda width: Function(lambda x: x.sum(-1)), 3, WIDTHS),
    widths("sum_wide", lambda width: Function(lambda x: x.sum(-1)), 1, WIDE + (8192,)),
]


def softmaxes(dim):
    return (lambda x: F.softmax(x, dim)), (lambda x: F.log_softmax(x, dim))


SOFTMAXES = [
    reduced("softmax_last", lambda s: (s, 33), *softmaxes(-1)),
    reduced("softmax_middle", lambda s: (s, 7, 5), *softmaxes(1)),
    reduced("softmax_first", lambda s: (6, s), *softmaxes(0)),
    reduced("softmax_the_live_dim", lambda s: (5, s), *softmaxes(-1), live=FILLED),
    Case("softmax_large_values", several(*softmaxes(-1)), lambda: (noise(4, 65, low=-300, high=300),)),
    widths("softmax_widths", lambda width: Function(softmaxes(-1)[0]), 2, WIDTHS),
    widths("softmax_wide", lambda width: Function(softmaxes(-1)[0]), 1, WIDE),
    widths("log_softmax_widths", lambda width: Function(softmaxes(-1)[1]), 2, WIDTHS),
]

CASES = RMS_NORMS + LAYER_NORMS + CHANNEL_NORMS + REDUCTIONS + SOFTMAXES
