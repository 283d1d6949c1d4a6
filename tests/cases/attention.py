"""Causal attention with a KV cache: append k and v at a position, then attend to everything up to it."""

import executorch.backends.vulkan.custom_ops_lib  # noqa: F401  registers et_vk
import torch
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401  registers llama

from tools.fixtures.case import ACCUMULATED, EXACT, F32, Case, Fails, cycle, noise


def causal(q, k_cache, v_cache, position, scale=None):
    """The attention of q [1, S, Hq, D] over the first position + S rows of the caches, in the dtype of q."""
    s, heads, d = q.shape[1:]
    rows = position + s
    keys, values = (
        cache[0, :rows].repeat_interleave(heads // cache.shape[2], dim=1).transpose(0, 1).to(q.dtype)
        for cache in (k_cache, v_cache)
    )
    scores = q[0].transpose(0, 1) @ keys.transpose(1, 2) * (d**-0.5 if scale is None else scale)
    seen = torch.arange(rows)[None, :] <= position + torch.arange(s)[:, None]
    weights = scores.masked_fill(~seen, float("-inf")).softmax(-1)
    return (weights @ values).transpose(0, 1)[None]


class Attention(torch.nn.Module):
    """sdpa_with_kv_cache on caches that the program keeps. The position is input_pos[0], or `fixed` if that is given.

    `before` is applied to q, k and v, so that they are intermediates of the program.
    """

    def __init__(self, kv_heads, d, capacity, fixed=None, scale=None, before=None, initial=False):
        super().__init__()
        shape = (1, capacity, kv_heads, d)
        # What the caches hold in the program itself; a runtime must start from it.
        self.register_buffer("k_cache", cycle(*shape, period=7, offset=3) if initial else torch.zeros(shape))
        self.register_buffer("v_cache", cycle(*shape, period=5, offset=2) if initial else torch.zeros(shape))
        self.fixed, self.scale, self.before = fixed, scale, before
        # The state of the reference, which golden() advances.
        self.k_rows, self.v_rows = self.k_cache.double(), self.v_cache.double()

    def prepared(self, *qkv):
        return tuple(self.before(x) for x in qkv) if self.before else qkv

    def forward(self, q, k, v, input_pos=None):
        q, k, v = self.prepared(q, k, v)
        start = self.fixed if input_pos is None else input_pos[0].item()
        return torch.ops.llama.sdpa_with_kv_cache(
            q, k, v, self.k_cache, self.v_cache, start, q.shape[1], None, 0.0, True, self.scale
        )

    def golden(self, q, k, v, input_pos=None):
        q, k, v = self.prepared(q, k, v)
        start = self.fixed if input_pos is None else int(input_pos[0])
        self.k_rows[:, start : start + k.shape[1]] = k
        self.v_rows[:, start : start + v.shape[1]] = v
        return causal(q, self.k_rows, self.v_rows, start, self.scale)


class GivenCaches(torch.nn.Module):
    """sdpa_with_kv_cache on caches that are inputs of the program, at a constant position."""

    def __init__(self, position):
        super().__init__()
        self.position = position

    def forward(self, q, k, v, k_cache, v_cache):
        return torch.ops.llama.sdpa_with_kv_cache(
            q, k, v, k_cache, v_cache, self.position, q.shape[1], None, 0.0, True, None
        )

    def golden(self, q, k, v, k_cache, v_cache):
        end = self.position + q.shape[1]
        k_cache[:, self.position : end], v_cache[:, self.position : end] = k, v
        return causal(q, k_cache, v_cache, self.position)


def qkv(heads, kv_heads, d, s, denominator=16.0, step=0):
    return (
        cycle(1, s, heads, d, period=17, offset=8, scale=denominator, phase=31 * step),
        cycle(1, s, kv_heads, d, period=13, offset=6, scale=denominator, phase=31 * step),
        cycle(1, s, kv_heads, d, period=11, offset=5, scale=denominator, phase=31 * step),
    )


def given(name, heads, kv_heads, d, s, capacity, position, denominator=16.0, **options):
    """One step at a constant position, with caches whose earlier rows are filled."""

    def inputs():
        caches = [torch.zeros(1, capacity, kv_heads, d) for _ in range(2)]
        for cache, period, offset in zip(caches, (7, 5), (3, 2)):
            cache[0, :position] = cycle(position, kv_heads, d, period=period, offset=offset)
        return (*qkv(heads, kv_heads, d, s, denominator), *caches)

    return Case(name, lambda: GivenCaches(position), inputs, **options)


def steps(name, heads, kv_heads, d, capacity, runs, bound=None, denominator=16.0, tolerance=F32, large=False, **module):
    """Runs of (S, position) on one session; S is live up to `bound`, the position comes from an input."""

    def inputs(s, position):
        return (*qkv(heads, kv_heads, d, s, denominator, step=position), torch.tensor([position]))

    bound = bound or max(run[0] for run in runs if not isinstance(run, Fails))
    return Case(
        name,
        lambda: Attention(kv_heads, d, capacity, **module),
        inputs if bound > 1 else lambda position: inputs(1, position),
        {"s": bound} if bound > 1 else {},
        runs if bound > 1 else [run[1] for run in runs],
        tolerance,
        stateful=True,
        large=large,
    )


def in_turn(*lengths):
    """(S, position) for steps of these lengths, one after the other."""
    return tuple((s, sum(lengths[:i])) for i, s in enumerate(lengths))


GIVEN = [
    given("gqa31_prefill", 6, 2, 8, 4, 16, 0),
    given("mha_odd_context", 4, 4, 16, 3, 8, 0),
    given("gqa21_prefill", 8, 4, 4, 5, 16, 0),
    given("gqa31_decode", 6, 2, 8, 2, 16, 2),
    given("mha_large_logits", 4, 4, 32, 4, 16, 0, 0.5),
    given("head_size_6", 4, 4, 6, 4, 16, 0),
    given("static_one_row", 8, 2, 16, 1, 64, 0),
    given("static_16_rows", 8, 2, 16, 16, 64, 0),
    given("fills_the_cache", 4, 2, 8, 3, 16, 13),
    given("llama3_prefill", 24, 8, 128, 128, 256, 0, large=True),
    given("llama1b_decode", 32, 8, 64, 1, 512, 127, large=True),
    given("llama1b_prefill", 32, 8, 64, 128, 512, 0, large=True),
    given("llama1b_prefill_512", 32, 8, 64, 512, 512, 0, large=True),
    given("llama1b_prefill_2048", 32, 8, 64, 2048, 2048, 0, large=True),
    given("llama1b_decode_4k", 32, 8, 64, 1, 4096, 4095, large=True),
    given("llama1b_decode_8k", 32, 8, 64, 1, 8192, 8191, large=True),
    given("qwen3_prefill", 16, 8, 128, 128, 256, 0, 10.0, large=True),
    given("qwen3_odd_boundary", 16, 8, 128, 17, 64, 31, 10.0, large=True),
    Case(
        "live_rows_of_given_caches",
        lambda: GivenCaches(0),
        lambda s: (*qkv(8, 2, 16, s), torch.zeros(1, 40, 2, 16), torch.zeros(1, 40, 2, 16)),
        {"s": 40},
        (40, 16, 1, 40, 1),
    ),
]

HEAD_SIZES = [
    steps(f"head_size_{d}", 4, 2, d, 12, ((5, 0), (1, 5), (2, 6)), tolerance=F32)
    for d in (2, 8, 10, 40, 64, 72, 80, 96, 128)
] + [
    steps("head_size_132", 8, 2, 132, 8, ((6, 0), (1, 6), (6, 1))),
    steps("head_size_256", 2, 1, 256, 8, ((4, 0), (1, 4))),
]

STEPS = [
    steps("replay_small", 8, 4, 4, 16, in_turn(3, 1, 1, 5, 1, 1, 2)),
    steps("replay_gqa31", 6, 2, 8, 16, in_turn(3, 1, 1, 5, 1, 1)),
    steps("replay_llama3", 24, 8, 128, 256, in_turn(111, 1, 1, 1, 57, 1, 1), large=True),
    steps("replay_qwen3", 16, 8, 128, 64, in_turn(17, 1), large=True),
    steps("decode_only", 8, 4, 4, 16, in_turn(1, 1, 1, 1, 1, 1), bound=1),
    steps("fills_up_then_starts_again", 4, 2, 8, 16, ((7, 0), (9, 7), (1, 0), (15, 1), (16, 0), (1, 15))),
    steps(
        "past_the_capacity_fails",
        4,
        2,
        8,
        8,
        ((5, 0), (1, 5), (1, 6), (1, 7), Fails((1, 8)), Fails((3, 6)), Fails((1, -1)), (2, 6), (1, 0), (3, 5)),
    ),
    steps(
        "above_the_bound_fails", 4, 2, 8, 32, ((8, 0), Fails((9, 8)), (8, 8), Fails((20, 0)), (1, 16), (3, 17)), bound=8
    ),
    # q, k and v are intermediates and the prompt takes more than half of the cache.
    steps(
        "long_prompt_of_intermediates",
        4,
        2,
        8,
        24,
        ((20, 0), (1, 20), (1, 21), (1, 22), (1, 23), Fails((1, 24)), (1, 23), (5, 0), (19, 5)),
        before=torch.tanh,
    ),
    steps(
        "below_the_bound_first", 4, 2, 8, 48, ((9, 0), (40, 0), (7, 40), (1, 47), (1, 3)), bound=40, before=torch.tanh
    ),
    steps("empty_steps", 4, 2, 8, 16, ((3, 0), (0, 3), (1, 3), (0, 0), (2, 4)), bound=8),
    steps("initial_cache", 4, 2, 8, 16, ((3, 5), (1, 8), (2, 0)), initial=True),
    steps("given_scale", 4, 2, 8, 16, ((3, 0), (1, 3)), scale=0.25),
    steps("mqa", 8, 1, 16, 16, ((3, 0), (1, 3), (5, 4))),
    steps("positions_around_tiles", 2, 1, 8, 136, ((15, 0), (2, 15), (47, 16), (2, 63), (1, 64), (71, 65)), bound=72),
    steps("long_context", 2, 1, 8, 520, ((500, 0), (1, 511), (4, 512), (17, 495)), bound=500, large=True),
    steps(
        "llama_k16",
        32,
        8,
        64,
        525,
        ((12, 1), (512, 13), (1, 13), (508, 13), (128, 13), (127, 13), (16, 13), (1, 13), (512, 13)),
        bound=512,
        large=True,
        tolerance=ACCUMULATED,
    ),
    steps(
        "qwen3_k16",
        16,
        8,
        128,
        525,
        ((17, 13), (128, 13), (17, 13), (1, 13)),
        bound=512,
        denominator=10.0,
        initial=True,
        large=True,
    ),
]


class UpdateCache(torch.nn.Module):
    """Writes value into the cache at a constant position; returns the cache."""

    def __init__(self, position):
        super().__init__()
        self.position = position

    def forward(self, value, cache):
        torch.ops.llama.update_cache(value, cache, self.position)
        return cache * 1.0

    def golden(self, value, cache):
        cache[:, self.position : self.position + value.shape[1]] = value
        return cache


class KeepCache(torch.nn.Module):
    """A cache that the program keeps, written at input_pos[0] and returned whole."""

    def __init__(self, capacity, heads, d):
        super().__init__()
        self.register_buffer("cache", torch.zeros(1, capacity, heads, d))
        self.rows = torch.zeros(1, capacity, heads, d, dtype=torch.float64)

    def forward(self, value, input_pos):
        torch.ops.llama.update_cache(value, self.cache, input_pos[0].item())
        return self.cache * 1.0

    def golden(self, value, input_pos):
        start = int(input_pos[0])
        self.rows[:, start : start + value.shape[1]] = value
        return self.rows.clone()


def updated(name, s, heads, d, capacity, position):
    inputs = lambda: (noise(1, s, heads, d), noise(1, capacity, heads, d, seed=1))
    return Case(name, lambda: UpdateCache(position), inputs, tolerance=EXACT)


def replayed(name, heads, d, lengths, **options):
    return Case(
        name,
        lambda: KeepCache(sum(lengths), heads, d),
        lambda s, position: (noise(1, s, heads, d, seed=position), torch.tensor([position])),
        {"s": max(lengths)},
        in_turn(*lengths),
        EXACT,
        stateful=True,
        **options,
    )


CACHES = [
    updated("update_cache", 2, 2, 4, 8, 0),
    updated("update_cache_offset", 2, 2, 4, 8, 5),
    updated("update_cache_wide", 3, 4, 8, 16, 0),
    updated("update_cache_wide_offset", 3, 4, 8, 16, 10),
    replayed("update_cache_replay", 4, 4, (3, 1, 1, 5, 1, 1, 2)),
    replayed("update_cache_replay_wide", 2, 8, (3, 1, 1, 5, 1, 1)),
    replayed("update_cache_replay_llama3", 8, 128, (111, 1, 1, 1, 57, 1, 1), large=True),
]


def plain(name, q, kv, live=None, **options):
    """et_vk.sdpa without a mask: every query attends to every key."""

    class Plain(torch.nn.Module):
        def forward(self, q, k, v):
            return torch.ops.et_vk.sdpa.default(q, k, v, None, options.get("scale"))

        def golden(self, q, k, v):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=options.get("scale"))

    large = options.get("large", False)
    if live is None:
        return Case(name, Plain, lambda: (noise(*q), noise(*kv, seed=1), noise(*kv, seed=2)), large=large)
    b, h, _, d = q

    def inputs(s, t):
        return noise(b, h, s, d), noise(b, h, t, d, seed=1), noise(b, h, t, d, seed=2)

    return Case(name, Plain, inputs, {"s": q[2], "t": kv[2]}, live, large=large)


PLAIN = [
    plain("plain_small", (1, 4, 8, 16), (1, 4, 8, 16)),
    plain("plain_pooled_queries", (1, 8, 4, 16), (1, 8, 16, 16)),
    plain("plain_head_size_6", (2, 3, 5, 6), (2, 3, 7, 6)),
    plain("plain_scale", (1, 2, 5, 8), (1, 2, 7, 8), scale=0.25),
    plain("plain_live", (1, 2, 20, 8), (1, 2, 24, 8), ((20, 24), (1, 24), (20, 1), (7, 9), (20, 24))),
    plain("plain_siglip", (1, 12, 576, 64), (1, 12, 576, 64), large=True),
    plain("plain_asymmetric", (1, 8, 32, 64), (1, 8, 256, 64), large=True),
    plain("plain_d128", (1, 4, 8, 128), (1, 4, 8, 128)),
]

CASES = GIVEN + HEAD_SIZES + STEPS + CACHES + PLAIN
