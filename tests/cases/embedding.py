"""4-bit embeddings, as the exporter of language models makes them and with both nibble orders."""

import executorch.backends.vulkan.custom_ops_lib  # noqa: F401  registers et_vk
import torch
from executorch.examples.models.llama.source_transformation.quantize import EmbeddingQuantHandler

from tools.fixtures.case import F32, Case, integers, noise


class Q4Embedding(torch.nn.Module):
    """packed [V, E / 2] with two weights a byte, each q + 8; scales [V, E / group].

    `low_first` says whether the even element sits in the low nibble.
    """

    def __init__(self, rows, width, group, low_first):
        super().__init__()
        self.group, self.low_first = group, low_first
        self.register_buffer("packed", integers(rows, width // 2, high=256).to(torch.uint8))
        self.register_buffer("scales", noise(rows, width // group, low=0.01, high=0.2))

    def forward(self, index):
        return torch.ops.et_vk.embedding_q4gsw.default(self.packed, self.scales, self.group, index, self.low_first)

    def golden(self, index):
        low, high = (self.packed & 15).int() - 8, (self.packed >> 4).int() - 8
        values = torch.stack((low, high) if self.low_first else (high, low), -1).flatten(1)
        weights = values.double() * self.scales.double().repeat_interleave(self.group, dim=1)
        return weights[index]


class Quantized(torch.nn.Module):
    """A float embedding after the exporter's own quantization."""

    def __init__(self, rows, width, group):
        super().__init__()
        table = torch.nn.Sequential(torch.nn.Embedding(rows, width))
        with torch.no_grad():
            table[0].weight.copy_(noise(rows, width))
        handler = EmbeddingQuantHandler(
            table.eval(), device="cpu", bitwidth=4, group_size=group, packed=True, quantize_with_hqq=False
        )
        self.table = handler.quantized_model()

    def forward(self, index):
        return self.table(index)

    def golden(self, index):
        return self.table(index)  # one product a value: f32 is exact enough


def live(name, module, high, bound=16, runs=(16, 8, 1, 5, 0, 16)):
    return Case(name, module, lambda n: ((torch.arange(n) * 7 % high).reshape(n),), {"n": bound}, runs, F32)


CASES = [
    live("live", lambda: Quantized(64, 64, 32), 64),
    live("low_nibble_first", lambda: Q4Embedding(64, 64, 32, True), 64),
    live("high_nibble_first", lambda: Q4Embedding(64, 64, 32, False), 64),
    live("one_group_a_row", lambda: Q4Embedding(20, 96, 96, True), 20),
    live("group_of_16", lambda: Q4Embedding(20, 96, 16, True), 20),
    Case(  # where a binding is at most 10 KiB
        "table_in_parts", lambda: Q4Embedding(3000, 32, 32, True), lambda: (torch.arange(16) * 199,), tolerance=F32
    ),
    Case("small", lambda: Quantized(64, 64, 32), lambda: (torch.tensor([1, 5, 63, 0]),)),
    Case("llama_width", lambda: Q4Embedding(40, 2048, 64, True), lambda: (torch.tensor([1, 5, 39, 0]),)),
    Case(
        "int32_indices", lambda: Q4Embedding(20, 64, 32, True), lambda: (torch.tensor([1, 19, 0], dtype=torch.int32),)
    ),
    Case(
        "batch_of_rows",
        lambda: Q4Embedding(30, 32, 32, True),
        lambda b, s: (integers(b, s, high=30),),
        {"b": 3, "s": 12},
        ((3, 12), (1, 12), (3, 1), (2, 5), (3, 12)),
    ),
]
