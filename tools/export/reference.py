"""python -m tools.export.reference: torch's own logits for an exported model, to measure a runtime against.

It runs the eager model that the exporter traces the program from, after quantization, so both hold the same 4-bit
weights; --check proves it by finding every packed weight and scale in model.pte. For each prefill length L it writes
prefill_L.safetensors with
    tokens  i64 [L + 64]       the tokens fed: L in one run at position 0, then one a run
    logits  f32 [65, vocab]    the logits after the prefill and after each of the 64 forced decode steps
and page_64.safetensors, how well torch predicts the first tokens of page.txt; --score does the same for any text, for
`sconce perplexity --reference`:
    tokens          i64 [N + 1]  the text's tokens: each of the last N is predicted from those before it in its window
    log_likelihood  f64 [N]      the natural logarithm of its probability
    top1            i64 [N]      the token that torch holds likeliest there
    margin          f32 [N]      its logit less the second largest one
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
PAGE = pathlib.Path(__file__).with_name("page.txt")
PAGE_TOKENS = 64


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
        """Replaces each quantized weight by the float32 values that it stands for: the same results, but faster. A weight
        that rounds its activations too (8da4w) stays, since its values alone would lose that."""
        for linear in self.linears().values():
            if linear.weight.activation_quantization is None:
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

    def predict(self, tokens, window):
        """How well each of tokens[1:] is predicted, as the tensors of a reference file: every `window` tokens are fed on
        an empty cache, one by one."""
        rows = []
        for start in range(0, len(tokens) - 1, window):
            rows.append(self.forced(tokens[start : min(start + window, len(tokens) - 1)], 1))
        logits = torch.cat(rows)
        following = torch.tensor(tokens[1:])
        best = logits.topk(2).values
        return {
            "tokens": torch.tensor(tokens),
            "log_likelihood": logits.double().log_softmax(-1).gather(1, following[:, None])[:, 0].contiguous(),
            "top1": logits.argmax(-1),
            "margin": (best[:, 0] - best[:, 1]).contiguous(),
        }

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


def page_path(folder):
    return folder / f"page_{PAGE_TOKENS}.safetensors"


def is_stale(model, golden):
    """Whether the golden is absent or older than the program."""
    return not golden.exists() or golden.stat().st_mtime < (model / "model.pte").stat().st_mtime


def write_golden(path, tensors):
    """Under its name only when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    save_file(tensors, unfinished)
    unfinished.rename(path)


def write_prefills(reference, tokenizer, folder, lengths):
    tokens = tokenizer(PASSAGE.read_text()).input_ids
    progress = Progress([(f"Prefill of {n} and {DECODE_STEPS} steps", n / 10 + DECODE_STEPS) for n in lengths])
    for length in lengths:
        with progress.step(), quiet():
            fed = tokens[: length + DECODE_STEPS]
            write_golden(
                golden_path(folder, length), {"tokens": torch.tensor(fed), "logits": reference.forced(fed, length)}
            )


def write_score(reference, tokenizer, text, count, window, path):
    """`count` predicted tokens of a text, or all of them."""
    tokens = tokenizer(text.read_text()).input_ids
    tokens = tokens[: count + 1 if count else None]
    if len(tokens) < 2:
        raise ExportError(f"{text} has {len(tokens)} tokens; it takes two to predict one.")
    with Progress([(f"Predict {len(tokens) - 1} tokens of {text.name}", len(tokens) / 4)]).step(), quiet():
        write_golden(path, reference.predict(tokens, window))


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
    parser.add_argument("--score", type=pathlib.Path, metavar="TEXT", help="predict each token of this text file")
    parser.add_argument("--tokens", type=int, metavar="N", help="with --score: only the first N")
    parser.add_argument("--scores", type=pathlib.Path, metavar="FILE", help="with --score: the file to write")
    parser.add_argument("--check", action="store_true", help="compare the weights with those of model.pte")
    parser.add_argument("--ask", metavar="QUESTION", help="print torch's greedy answer")
    parser.add_argument("--max-new-tokens", type=int, default=64)
    arguments = parser.parse_args()
    if bool(arguments.score) != bool(arguments.scores):
        parser.error("--score TEXT and --scores FILE go together")
    try:
        run(arguments)
    except ExportError as error:
        sys.exit(f"error: {error}")


def run(arguments):
    model, folder = arguments.model, arguments.output
    lengths = [n for n in PREFILL_LENGTHS if is_stale(model, golden_path(folder, n))] if folder else []
    page = bool(folder) and is_stale(model, page_path(folder))
    if not (lengths or page or arguments.score or arguments.check or arguments.ask):
        print(f"{folder} is complete.", file=sys.stderr)
        return
    recipe = json.loads((model / "export.json").read_text())
    options = Options(**{k: v for k, v in recipe.items() if k in Options.__dataclass_fields__})
    progress = Progress([("Load and quantize the weights as the exporter does", 30)])
    with progress.step(), quiet():
        reference = Reference.load(arguments.gguf or find_packaged_gguf(arguments.package), options)
        tokenizer = AutoTokenizer.from_pretrained(model)
    if arguments.check:
        check_program(reference, model / "model.pte")
    reference.dequantize()
    if lengths:
        write_prefills(reference, tokenizer, folder, lengths)
    window = options.max_context_length
    if page:
        write_score(reference, tokenizer, PAGE, PAGE_TOKENS, window, page_path(folder))
    if arguments.score:
        write_score(reference, tokenizer, arguments.score, arguments.tokens, window, arguments.scores)
    if arguments.ask:
        with quiet():
            text = answer(reference, tokenizer, arguments.ask, arguments.max_new_tokens)
        print(text)


if __name__ == "__main__":
    main()
