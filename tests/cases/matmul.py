"""Float matrix products: aten.linear, mm and bmm."""

import torch

from tools.fixtures.case import F32, Case, Sweep, fn, noise, ramp

# Remainders of every tile size in use, and both sides of each.
EDGES = (1, 7, 16, 31, 32, 33, 63, 64, 96, 104, 255, 256, 257)


class Linear(torch.nn.Module):
    def __init__(self, inputs, outputs, bias):
        super().__init__()
        self.fc = torch.nn.Linear(inputs, outputs, bias=bias)
        with torch.no_grad():
            self.fc.weight.copy_(noise(outputs, inputs) / inputs**0.5)
            if bias:
                self.fc.bias.copy_(torch.linspace(-1, 1, outputs))

    def forward(self, x):
        return self.fc(x)


def linear(name, inputs, outputs, *rows, bias=True, **options):
    return Case(name, lambda: Linear(inputs, outputs, bias), lambda: (noise(*rows, inputs),), **options)


def linears(name, sizes, rows):
    """A linear of each (inputs, outputs) in one program."""
    return Case(
        name,
        lambda: Sweep(Linear(k, n, True) for k, n in sizes),
        lambda: tuple(noise(rows, k) for k, _ in sizes),
    )


def live_linear(name, inputs, bias):
    return Case(
        name,
        lambda: Linear(inputs, 32, bias),
        lambda m: (ramp(m, inputs),),
        {"m": 128},
        (128, 32, 1, 127, 33, 128),
        F32,
    )


LINEARS = [
    live_linear("linear_vec4_bias", 64, True),
    live_linear("linear_vec4", 64, False),
    live_linear("linear_odd_bias", 63, True),
    live_linear("linear_odd", 63, False),
    linear("linear_small", 64, 32, 4),
    linear("linear_small_unbiased", 64, 32, 4, bias=False),
    linear("linear_rank3", 48, 40, 1, 16),
    linear("linear_rank4", 24, 40, 2, 3, 5),
    linear("linear_tall", 64, 32, 256),
    linear("linear_768", 768, 768, 1, 16, large=True),
    linear("linear_1024", 1024, 1024, 1, 8, large=True),
    linears("linear_k", [(k, 12) for k in EDGES + (511, 513)], 3),
    linears("linear_n", [(12, n) for n in EDGES], 5),
    Case(
        "linear_rows",
        lambda: Linear(20, 24, True),
        lambda m: (noise(m, 20),),
        {"m": 129},
        (2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 127, 128, 129, 0, 1),
    ),
    Case(
        "linear_two_live_dims",
        lambda: Linear(20, 24, True),
        lambda b, s: (noise(b, s, 20),),
        {"b": 3, "s": 40},
        ((3, 40), (1, 40), (3, 1), (2, 17), (0, 5), (3, 40)),
    ),
]


class Scaled(torch.nn.Module):
    """A linear, and a product with a vector."""

    def __init__(self):
        super().__init__()
        self.linear = Linear(20, 24, True)
        self.register_buffer("scale", torch.linspace(0.5, 2, 24))

    def forward(self, x):
        return self.linear(x) * self.scale


LINEARS += [
    Case(name, Scaled, lambda m: (noise(m, 20),), {"m": 37}, (37, 5, 1, 0, 37), external=True, delegate=delegate)
    for name, delegate in (("data_file", True), ("data_file_of_kernel_calls", False))
]


def product(name, function, a, b, bounds, live):
    return Case(name, fn(function), lambda *d: (noise(*a(*d)), noise(*b(*d), seed=1)), bounds, live)


class ByConstants(torch.nn.Module):
    """mm and addmm of matrices that a device with bindings of 10 KiB must take in parts."""

    def __init__(self, k, n):
        super().__init__()
        self.w = torch.nn.Parameter(noise(k, n) / k**0.5)
        self.b = torch.nn.Parameter(torch.linspace(-1, 1, n))

    def forward(self, x):
        return torch.mm(x, self.w), torch.addmm(self.b, torch.tanh(x), self.w)


def products(name, function, shapes):
    """A product of each pair of shapes in one program."""

    def all_products(*operands):
        return tuple(function(a, b) for a, b in zip(operands[::2], operands[1::2]))

    return Case(
        name, fn(all_products), lambda: tuple(noise(*shape, seed=i) for pair in shapes for i, shape in enumerate(pair))
    )


PRODUCTS = [
    product("mm_live_rows", torch.mm, lambda m: (m, 36), lambda m: (36, 20), {"m": 65}, (65, 64, 1, 33, 0, 65)),
    product("mm_live_columns", torch.mm, lambda n: (7, 36), lambda n: (36, n), {"n": 65}, (65, 64, 1, 33, 0, 65)),
    product("mm_live_sum", torch.mm, lambda k: (7, k), lambda k: (k, 12), {"k": 65}, (65, 64, 1, 33, 65)),
    product("mm_empty_sum", torch.mm, lambda k: (7, k), lambda k: (k, 12), {"k": 65}, (0, 65, 0)),
    product(
        "mm_all_live",
        torch.mm,
        lambda m, k, n: (m, k),
        lambda m, k, n: (k, n),
        {"m": 33, "k": 40, "n": 35},
        ((33, 40, 35), (1, 40, 35), (33, 1, 35), (33, 40, 1), (16, 17, 31), (33, 40, 35)),
    ),
    products("mm_k", torch.mm, [((5, k), (k, 12)) for k in EDGES]),
    products("mm_n", torch.mm, [((5, 12), (12, n)) for n in EDGES]),
    products("mm_m", torch.mm, [((m, 12), (12, 9)) for m in EDGES]),
    product("bmm_live_batch", torch.bmm, lambda b: (b, 5, 24), lambda b: (b, 24, 12), {"b": 9}, (9, 1, 8, 0, 9)),
    product(
        "bmm_all_live",
        torch.bmm,
        lambda b, m, n: (b, m, 20),
        lambda b, m, n: (b, 20, n),
        {"b": 3, "m": 33, "n": 35},
        ((3, 33, 35), (1, 33, 35), (3, 1, 35), (3, 33, 1), (2, 16, 31), (3, 33, 35)),
    ),
    product(
        "bmm_of_intermediates",
        lambda a, b: torch.bmm(a.sigmoid(), torch.tanh(torch.tanh(b))),
        lambda s: (2, s, 16),
        lambda s: (2, 16, s),
        {"s": 33},
        (20, 33, 7, 1, 33),
    ),
    products("bmm_n", torch.bmm, [((2, 5, 12), (2, 12, n)) for n in EDGES]),
    product(
        "matmul_heads",
        torch.matmul,
        lambda s: (2, 3, s, 8),
        lambda s: (2, 3, 8, s),
        {"s": 20},
        (20, 7, 1, 20),
    ),
]


def sum_and_product(name, added, a, b, bounds=None, live=((),), **factors):
    """addmm: the shapes of its three operands are functions of the live dims."""
    inputs = lambda *d: tuple(noise(*shape(*d), seed=i) for i, shape in enumerate((added, a, b)))
    return Case(name, fn(lambda c, x, y: torch.addmm(c, x, y, **factors)), inputs, bounds or {}, live)


SUMS = [
    sum_and_product("addmm", lambda: (32,), lambda: (4, 16), lambda: (16, 32)),
    sum_and_product("addmm_odd", lambda: (32,), lambda: (4, 15), lambda: (15, 32)),
    sum_and_product("addmm_factors", lambda: (4, 32), lambda: (4, 16), lambda: (16, 32), beta=0.5, alpha=-2),
    sum_and_product("addmm_without_the_sum", lambda: (4, 32), lambda: (4, 16), lambda: (16, 32), beta=0),
    sum_and_product("addmm_columns", lambda: (5, 1), lambda: (5, 12), lambda: (12, 9)),
    sum_and_product("addmm_rows", lambda: (1, 9), lambda: (5, 12), lambda: (12, 9)),
    sum_and_product(
        "addmm_live", lambda m: (20,), lambda m: (m, 36), lambda m: (36, 20), {"m": 65}, (65, 64, 1, 33, 0, 65)
    ),
    sum_and_product(
        "addmm_all_live",
        lambda m, k, n: (m, n),
        lambda m, k, n: (m, k),
        lambda m, k, n: (k, n),
        {"m": 33, "k": 40, "n": 35},
        ((33, 40, 35), (1, 40, 35), (33, 1, 35), (33, 40, 1), (16, 17, 31), (0, 9, 5), (33, 40, 35)),
        beta=2,
    ),
    Case(
        "addmm_768",
        fn(torch.addmm),
        lambda: (noise(768), noise(16, 768) / 28, noise(768, 768, seed=1)),
        large=True,
    ),
]

IN_PARTS = [
    linear("linear_in_parts", 40, 100, 5),
    Case(
        "constants_in_parts", lambda: ByConstants(40, 100), lambda m: (noise(m, 40),), {"m": 9}, (9, 1, 0, 5, 9), F32
    ),
]

CASES = LINEARS + PRODUCTS + SUMS + IN_PARTS
