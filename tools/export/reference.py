"""python -m tools.export.reference: torch's own logits for an exported model, to measure a runtime against.

It runs the eager model that the exporter traces the program from, after quantization, so both hold the same 4-bit
weights; --check proves it by finding every packed weight and scale in model.pte. For each prefill length L it writes
prefill_L.safetensors with
    tokens  i64 [L + 64]       the tokens fed: L in one run at position 0, then one a run
    logits  f32 [65, vocab]    the logits after the prefill and after each of the 64 forced decode steps
"""

import argparse
import json
import mmap
import pathlib
import sys
import tempfile

import numpy
import torch
from safetensors.torch import save_file
from transformers import AutoTokenizer

from tools.export import gguf_llama, program
from tools.export.errors import ExportError
from tools.export.progress import Progress
from tools.export.quiet import quiet
from tools.export.request import Options, find_packaged_gguf

PREFILL_LENGTHS = (1, 2, 7, 37, 64, 128, 255)
DECODE_STEPS = 64
PASSAGE = pathlib.Path(__file__).with_name("passage.txt")


class Reference:
    """The quantized eager model with a KV cache, as the program's `forward` computes it."""

    def __init__(self, model):
        self.model = model.eval()

    @classmethod
    def load(cls, path, options):
        llama = gguf_llama.open_llama(path)
        with tempfile.TemporaryDirectory(prefix="reference-") as folder:
            program.write_checkpoint(llama, pathlib.Path(folder))
            return cls(program.quantize(program.llm_config(pathlib.Path(folder), options)).model)

    def linears(self):
        return {n: m for n, m in self.model.named_modules() if isinstance(m, torch.nn.Linear)}

    def dequantize(self):
        """Replaces each quantized weight by the float32 values that it stands for: the same results, but faster."""
        for linear in self.linears().values():
            linear.weight = torch.nn.Parameter(linear.weight.dequantize(), requires_grad=False)

    @torch.no_grad()
    def run(self, tokens, position):
        """The logits [vocab] of the last of `tokens`, which take the cache rows from `position` on."""
        return self.model(torch.tensor([tokens]), {"input_pos": torch.tensor([position])})[0]

    def forced(self, tokens, length):
        """The logits [1 + steps, vocab] of a prefill of `length` tokens and a step for each token after them."""
        rows = [self.run(tokens[:length], 0)]
        for position in range(length, len(tokens)):
            rows.append(self.run(tokens[position : position + 1], position))
        return torch.stack(rows)

    def greedy(self, tokens, limit, ends):
        """The greedy continuation of `tokens`, at most `limit` tokens, without the end token."""
        answer = [int(self.run(tokens, 0).argmax())]
        while len(answer) < limit and answer[-1] not in ends:
            answer.append(int(self.run(answer[-1:], len(tokens) + len(answer) - 1).argmax()))
        return answer[:-1] if answer[-1] in ends else answer


def packed(linear):
    """The bytes of a 4-bit linear in the program: nibbles q + 8, low first, and the scales as [groups, N]."""
    weight = linear.weight
    nibbles = (weight.qdata.numpy() + 8).astype(numpy.uint8)
    return (nibbles[:, ::2] | nibbles[:, 1::2] << 4).tobytes(), weight.scale.float().t().contiguous().numpy().tobytes()


def check_program(reference, path):
    """Fails unless every quantized weight and scale of the reference is in the program, byte for byte."""
    linears = reference.linears()
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        absent = [name for name, linear in linears.items() if any(content.find(part) < 0 for part in packed(linear))]
    if absent:
        raise ExportError(f"{path} holds other weights than torch for {len(absent)} linears: {', '.join(absent)}.")
    print(f"All {len(linears)} quantized linears of {path} are torch's, byte for byte.", file=sys.stderr)


def golden_path(folder, length):
    return folder / f"prefill_{length}.safetensors"


def stale_lengths(model, folder):
    """The prefill lengths whose goldens are absent or older than the program."""
    made = (model / "model.pte").stat().st_mtime
    files = ((length, golden_path(folder, length)) for length in PREFILL_LENGTHS)
    return [length for length, file in files if not file.exists() or file.stat().st_mtime < made]


def write_goldens(reference, tokenizer, folder, lengths):
    tokens = tokenizer(PASSAGE.read_text()).input_ids
    folder.mkdir(parents=True, exist_ok=True)
    progress = Progress([(f"Prefill of {n} and {DECODE_STEPS} steps", n / 10 + DECODE_STEPS) for n in lengths])
    for length in lengths:
        with progress.step(), quiet():
            fed = tokens[: length + DECODE_STEPS]
            unfinished = golden_path(folder, length).with_suffix(".part")
            save_file({"tokens": torch.tensor(fed), "logits": reference.forced(fed, length)}, unfinished)
            unfinished.rename(golden_path(folder, length))


def answer(reference, tokenizer, question, limit):
    chat = [{"role": "user", "content": question}]
    prompt = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False)
    return tokenizer.decode(reference.greedy(prompt, limit, {tokenizer.eos_token_id}))


def main():
    parser = argparse.ArgumentParser(prog="python -m tools.export.reference", description=__doc__.splitlines()[0])
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--gguf", type=pathlib.Path, help="the GGUF file that the model directory was made from")
    source.add_argument("--package", help="the installed Python package that holds it")
    parser.add_argument("--model", type=pathlib.Path, required=True, help="the model directory")
    parser.add_argument("--output", type=pathlib.Path, help="write the logits of forced tokens into this folder")
    parser.add_argument("--check", action="store_true", help="compare the weights with those of model.pte")
    parser.add_argument("--ask", metavar="QUESTION", help="print torch's greedy answer")
    parser.add_argument("--max-new-tokens", type=int, default=64)
    arguments = parser.parse_args()
    try:
        run(arguments)
    except ExportError as error:
        sys.exit(f"error: {error}")


def run(arguments):
    lengths = stale_lengths(arguments.model, arguments.output) if arguments.output else []
    if not (lengths or arguments.check or arguments.ask):
        print(f"{arguments.output} is complete.", file=sys.stderr)
        return
    recipe = json.loads((arguments.model / "export.json").read_text())
    options = Options(**{k: v for k, v in recipe.items() if k in Options.__dataclass_fields__})
    progress = Progress([("Load and quantize the weights as the exporter does", 30)])
    with progress.step(), quiet():
        reference = Reference.load(arguments.gguf or find_packaged_gguf(arguments.package), options)
        tokenizer = AutoTokenizer.from_pretrained(arguments.model)
    if arguments.check:
        check_program(reference, arguments.model / "model.pte")
    reference.dequantize()
    if lengths:
        write_goldens(reference, tokenizer, arguments.output, lengths)
    if arguments.ask:
        with quiet():
            text = answer(reference, tokenizer, arguments.ask, arguments.max_new_tokens)
        print(text)


if __name__ == "__main__":
    main()
