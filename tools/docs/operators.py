"""python3 tools/docs/operators.py [--check]: writes docs/operators.md from the catalogue and the operator cases.

The names come from `sconce operators` and `sconce inspect`; element types and live shapes are those that the committed
cases (tests/fixtures/ops) run with. Standard library only.
"""

import argparse
import collections
import json
import pathlib
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/operators.md"
TYPES = {"F32": "f32", "F16": "f16", "I64": "i64", "I32": "i32", "BOOL": "bool", "U8": "u8", "I8": "i8", "F64": "f64"}
HEAD = """# Operators

Made by `python3 tools/docs/operators.py`; do not edit. An operator has the name that a delegate blob gives it; kernel calls
of a method (`aten::add.out`) run by the same names. Every operator runs at every live shape within its upper bounds. The
columns say what the operator cases cover: the element types of inputs and outputs of the programs that hold it, whether
one session runs it at several live shapes, in how many programs it stands, and whether passes make other operators of it
or with it (`sconce.` operators are made by passes alone). SymInt operators run on the host.

"""


def read_header(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        return json.loads(file.read(size))


def ask(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def operators_of(sconce, program, *options):
    """The nodes of each operator that the program runs, by its name in the catalogue."""
    data = [word for path in program.parent.glob(f"{program.stem}.*.ptd") for word in ("--data", path)]
    methods = json.loads(ask(sconce, *options, "inspect", program, "--json", *data))["methods"]
    nodes = collections.Counter()
    for method in methods:
        nodes.update({operator: use["nodes"] for operator, use in method["operators"].items()})
    return nodes


class Cases:
    """By operator: element types, whether live shapes differ from run to run, the number of programs, and whether passes
    take nodes of it away."""

    def __init__(self, sconce):
        self.types, self.live, self.count = collections.defaultdict(set), set(), collections.Counter()
        self.fused = set()
        for path in sorted((ROOT / "tests/fixtures/ops").rglob("*.safetensors")):
            self.add(sconce, path)

    def add(self, sconce, path):
        header = read_header(path)
        del header["__metadata__"]
        shapes = collections.defaultdict(set)
        for name, tensor in header.items():
            shapes[name.split(".")[1]].add(tuple(tensor["shape"]))
        as_written = operators_of(sconce, path.with_suffix(".pte"), "--no-fuse")
        rewritten = operators_of(sconce, path.with_suffix(".pte"))
        made = {operator for operator in rewritten if operator.startswith("sconce.")}
        self.fused |= made
        if made:
            self.fused |= {operator for operator, nodes in as_written.items() if rewritten[operator] < nodes}
        for operator in as_written.keys() | made:
            self.count[operator] += 1
            self.types[operator] |= {TYPES[tensor["dtype"]] for tensor in header.values()}
            if any(len(seen) > 1 for seen in shapes.values()):
                self.live.add(operator)


def page(sconce):
    names = ask(sconce, "operators").split()
    cases = Cases(sconce)
    yes = lambda answer: "yes" if answer else "-"
    lines = ["| operator | element types | live shapes | programs | fused |", "|---|---|---|---|---|"]
    for name in names:
        types = ", ".join(sorted(cases.types[name])) or "-"
        lines.append(f"| `{name}` | {types} | {yes(name in cases.live)} | {cases.count[name]} | {yes(name in cases.fused)} |")
    return HEAD + "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sconce", default=ROOT / "build/sconce", type=pathlib.Path, help="the built command")
    parser.add_argument("--check", action="store_true", help="fail when the page is not up to date")
    arguments = parser.parse_args()
    text = page(arguments.sconce)
    if not arguments.check:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        sys.exit("docs/operators.md is out of date; run python3 tools/docs/operators.py.")


if __name__ == "__main__":
    main()
