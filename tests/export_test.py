"""Tests of tools/export that need no exporter: reading GGUF files, made-up weights, predictions of torch, and
refusing what cannot be exported."""

import argparse
import math
import pathlib
import sys
import tempfile
import unittest

import gguf
import numpy
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from tools.export.__main__ import check_geometry
from tools.export.errors import ExportError
from tools.export.geometry import geometry, made_up_linear
from tools.export.gguf_llama import LAYER_NAMES, open_llama
from tools.export.reference import Reference
from tools.export.request import find_packaged_gguf

SHAPES = {
    "attn_q.weight": (16, 16),
    "attn_k.weight": (8, 16),
    "attn_v.weight": (8, 16),
    "attn_output.weight": (16, 16),
    "ffn_gate.weight": (24, 16),
    "ffn_down.weight": (16, 24),
    "ffn_up.weight": (24, 16),
    "attn_norm.weight": (16,),
    "ffn_norm.weight": (16,),
}
METADATA = {
    "embedding_length": 16,
    "feed_forward_length": 24,
    "block_count": 1,
    "attention.head_count": 4,
    "attention.head_count_kv": 2,
}


def values(*shape):
    return numpy.arange(numpy.prod(shape), dtype=numpy.float32).reshape(shape)


def write(path, architecture="llama", without=(), **extra):
    """A tiny GGUF file; `extra` are tensors with dots written as double underscores."""
    writer = gguf.GGUFWriter(path, architecture)
    for key, value in METADATA.items():
        if key not in without:
            writer.add_uint32(f"{architecture}.{key}", value)
    writer.add_float32(f"{architecture}.attention.layer_norm_rms_epsilon", 1e-5)
    writer.add_float32(f"{architecture}.rope.freq_base", 500000.0)
    writer.add_uint32("tokenizer.ggml.bos_token_id", 1)
    writer.add_uint32("tokenizer.ggml.eos_token_id", 2)
    writer.add_uint32("tokenizer.ggml.eot_token_id", 7)
    writer.add_tensor("token_embd.weight", values(20, 16))
    writer.add_tensor("output_norm.weight", values(16))
    for name, shape in SHAPES.items():
        writer.add_tensor(f"blk.0.{name}", values(*shape))
    for name, tensor in extra.items():
        writer.add_tensor(name.replace("__", "."), tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


class GgufLlamaTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "tiny.gguf"

    def test_parameters_come_from_the_metadata(self):
        llama = open_llama(write(self.path))
        expected = {"dim": 16, "hidden_dim": 24, "n_heads": 4, "n_kv_heads": 2, "head_dim": 4, "n_layers": 1}
        expected |= {"norm_eps": 1e-5, "rope_theta": 500000.0, "vocab_size": 20, "use_scaled_rope": False}
        self.assertEqual(llama.params, expected | {"use_hf_rope": False})
        self.assertEqual(llama.generation_config, {"eos_token_id": [2, 7], "bos_token_id": 1})

    def test_tensors_keep_their_values_under_the_exporter_s_names(self):
        weights = open_llama(write(self.path)).checkpoint()
        for name, shape in SHAPES.items():
            self.assertTrue(numpy.array_equal(weights[f"layers.0.{LAYER_NAMES[name]}"].numpy(), values(*shape)))
        self.assertIs(weights["output.weight"], weights["tok_embeddings.weight"])

    def test_an_output_of_its_own_is_not_tied(self):
        weights = open_llama(write(self.path, output__weight=2 * values(20, 16))).checkpoint()
        self.assertTrue(numpy.array_equal(weights["output.weight"].numpy(), 2 * values(20, 16)))

    def test_scaled_rope_takes_its_factor_from_the_frequencies(self):
        factors = numpy.array([1.0, 32.0], dtype=numpy.float32)
        params = open_llama(write(self.path, rope_freqs__weight=factors)).params
        self.assertEqual((params["use_scaled_rope"], params["rope_scale_factor"]), (True, 32))

    def test_refusals_name_the_cause(self):
        cases = {
            "architecture 'qwen3'": lambda: open_llama(write(self.path, architecture="qwen3")),
            "'llama.feed_forward_length'": lambda: open_llama(write(self.path, without=("feed_forward_length",))),
            "blk.0.attn_q.bias": lambda: open_llama(write(self.path, blk__0__attn_q__bias=values(16))),
            "There is no file": lambda: open_llama(self.path.with_name("absent.gguf")),
            "not a readable GGUF file": lambda: open_llama(self.broken()),
            "'no_such_package' is not installed": lambda: find_packaged_gguf("no_such_package"),
        }
        for cause, attempt in cases.items():
            with self.subTest(cause), self.assertRaises(ExportError) as caught:
                attempt()
            self.assertIn(cause, str(caught.exception))

    def broken(self):
        self.path.write_bytes(b"not a model at all, but long enough for a header")
        return self.path


class GeometryTest(unittest.TestCase):
    def test_sizes_give_the_published_numbers_of_parameters(self):
        # Of the models' own weight files; all but the largest use the embedding as the output layer.
        published = {
            "llama-3.2-1b": 1_235_814_400,
            "llama-3.2-3b": 3_212_749_824,
            "llama-3.1-8b": 8_030_261_248,
            "smollm2-135m": 134_515_008,
        }
        for name, count in published.items():
            weights = geometry(name).checkpoint()
            tied = 0 if name == "llama-3.1-8b" else weights["output.weight"].numel()
            self.assertEqual(sum(weight.numel() for weight in weights.values()) - tied, count, name)

    def test_a_checkpoint_takes_no_memory(self):
        weights = geometry("llama-3.1-8b").checkpoint()
        self.assertLess(sum(weight.untyped_storage().nbytes() for weight in weights.values()), 2_000_000)

    def test_layers_can_be_fewer_but_not_more(self):
        self.assertEqual(geometry("llama-3.2-1b", 2).params["n_layers"], 2)
        self.assertEqual(geometry("llama-3.2-1b", 99).params["n_layers"], 16)
        self.assertNotIn("layers.2.ffn_norm.weight", geometry("llama-3.2-1b", 2).checkpoint())

    def test_made_up_weights_are_small_4_bit_and_each_layer_s_own(self):
        linear = torch.nn.Linear(256, 96, bias=False)
        options = argparse.Namespace(group_size=32, quantization="4w")
        one, other = (made_up_linear(name, linear, options) for name in ("layers.0.wq", "layers.1.wq"))
        self.assertEqual((tuple(one.qdata.shape), tuple(one.scale.shape)), ((96, 256), (96, 8)))
        self.assertEqual(one.qdata.untyped_storage().nbytes(), 256)
        self.assertTrue(-8 <= one.qdata.min() and one.qdata.max() <= 7)
        self.assertFalse(torch.equal(one.qdata, other.qdata))
        self.assertFalse(torch.equal(one.scale[0], one.scale[1]), "rows differ by their scales")
        mean_square = one.dequantize().pow(2).mean().item() * 256
        self.assertTrue(0.3 < mean_square < 3, mean_square)

    def test_refusals_name_the_cause(self):
        cases = {
            "no geometry 'llama-9'; choose one of llama-3.2-1b": {"geometry": "llama-9", "layers": None},
            "--layers cuts a --geometry": {"geometry": None, "layers": 2},
        }
        for cause, arguments in cases.items():
            with self.subTest(cause), self.assertRaises(ExportError) as caught:
                check_geometry(argparse.Namespace(**arguments))
            self.assertIn(cause, str(caught.exception))


class Counter(Reference):
    """Predicts the token fed plus one with a logit of 2, and the one after that with 1; remembers where it was fed."""

    def __init__(self):
        self.fed = []

    def run(self, tokens, position):
        self.fed.append((tokens, position))
        logits = torch.zeros(10)
        logits[tokens[-1] + 1], logits[tokens[-1] + 2] = 2.0, 1.0
        return logits


class ReferenceTest(unittest.TestCase):
    def test_each_token_after_the_first_is_predicted_in_windows(self):
        counter = Counter()
        prediction = counter.predict([1, 2, 3, 5, 0], window=3)
        self.assertEqual(counter.fed, [([1], 0), ([2], 1), ([3], 2), ([5], 0)])
        self.assertEqual(prediction["tokens"].tolist(), [1, 2, 3, 5, 0])
        self.assertEqual(prediction["top1"].tolist(), [2, 3, 4, 6])
        self.assertEqual(prediction["margin"].tolist(), [1.0] * 4)
        self.assertEqual(prediction["log_likelihood"].dtype, torch.float64)
        total = math.log(math.exp(2) + math.exp(1) + 8)
        for ours, logit in zip(prediction["log_likelihood"].tolist(), (2, 2, 1, 0), strict=True):
            self.assertAlmostEqual(ours, logit - total, places=12)


if __name__ == "__main__":
    unittest.main()
