#!/usr/bin/env python3
"""Turns the WGSL files of src/ops into generated/kernels.h and kernels.cpp.

A WGSL file is the only declaration of its bindings, parameters and choices; this generator gives the host a struct a
kernel with typed members, so the two cannot disagree. What it reads, beside plain WGSL:

  // use: grid, index              the text of grid.wgsl and index.wgsl, from its own folder or shared/, before its own:
                                   functions, and for kernels with the same operands the bindings and Params too
  // variant: tile = 4 | 8         const tile = 4;     a u32 member `tile`
  // variant: bias = false | true  const bias = false; a bool member `bias`
  // variant: op = add | mul       const op = op_add;  an enum member `op` (constants op_add, op_mul exist in the WGSL)
  // variant: Elem = f32 | f16     alias Elem = f32;   an enum member `elem` (an f16 alias also enables f16)
  // variant: Unit = u32 | vec4u   the same: kernels that only move bits may move 16 bytes at once
  // limits: invocations = 64, workgroup_bytes = 1024, matrix       what the check executor holds against a device
  enable subgroups;                hoisted
  @group(0) @binding(0) var<storage, read> x: array<f32>;           an Operand member `x`
  struct Params { rows: u32, ... } of u32, i32, f32, vec4 of these and arrays of vec4; a member each
  alias Number = i32;              a type that a part leaves to the kernel, also in Params
  @group(1) @binding(0) var<uniform> params: Params;

A file that others use is a part; every other file is a kernel, named by its file.

Standard library only, because it runs at every build.
"""

import argparse
import pathlib
import re
import sys

SCALARS = {"u32": "uint32_t", "i32": "int32_t", "f32": "float"}
TYPES = {"f32", "f16", "u32", "i32", "vec4u"}
KIND_NAMES = {"type": "type", "bool": "number", "u32": "number", "enum": "name"}


class Kernel:
    """One WGSL file with the parts that it uses, as read."""

    def __init__(self, path):
        self.path = path
        self.name = path.stem
        text = path.read_text()
        parts = [self.part(name).read_text().strip() for name in names_used(text)]
        body = "\n\n".join(parts + [text.strip()]) + "\n"
        self.enables = sorted(set(re.findall(r"^(?:enable|diagnostic)\b[^;]+;$", body, re.M)), reverse=True)
        self.source = without_comments(re.sub(r"^(?:enable|diagnostic)\b[^;]+;\n", "", body, flags=re.M))
        self.choices = [self.read_choice(line) for line in re.findall(r"^// variant: (.+)$", text, re.M)]
        self.bindings = self.read_bindings(body)
        self.params = self.read_params(body)
        self.limits = self.read_limits(text, body)

    def fail(self, why):
        sys.exit(f"{self.path}: {why}.")

    def part(self, name):
        for folder in (self.path.parent, self.path.parent.parent / "shared"):
            if (folder / f"{name}.wgsl").exists():
                return folder / f"{name}.wgsl"
        self.fail(f"uses '{name}', but neither its folder nor src/ops/shared has {name}.wgsl")

    def read_choice(self, line):
        match = re.fullmatch(r"(\w+) = (\w+(?: \| \w+)*)", line.strip())
        if not match:
            self.fail(f"the variant line '{line}' is not NAME = A | B")
        name, values = match[1], match[2].split(" | ")
        if all(v in TYPES for v in values):
            return name, values, "type"
        if set(values) <= {"false", "true"}:
            return name, ["false", "true"], "bool"
        return name, values, "u32" if all(v.isdigit() for v in values) else "enum"

    def read_bindings(self, body):
        found = re.findall(r"@group\(0\) @binding\((\d+)\) var<storage, (read|read_write)> (\w+):", body)
        for i, (number, _, name) in enumerate(found):
            if int(number) != i:
                self.fail(f"binding {name} has number {number}; they must be 0, 1, 2, ... in order")
        if not 0 < len(found) <= 8:
            self.fail(f"has {len(found)} storage bindings; 1 to 8 are allowed")
        return [(name, "write" if access == "read_write" else "read") for _, access, name in found]

    def read_params(self, body):
        match = re.search(r"struct Params \{(.*?)\}", body, re.S)
        aliases = dict(re.findall(r"^alias (\w+) = (\w+);", body, re.M))
        members, offset = [], 0
        for line in match[1].splitlines() if match else []:
            line = line.split("//")[0].strip().rstrip(",")
            if not line:
                continue
            name, kind = [p.strip() for p in line.split(":")]
            scalar, count, align, size = self.param_layout(aliases.get(kind, kind))
            offset = (offset + align - 1) // align * align
            members.append((name, scalar, count, offset))
            offset += size
        if offset > 256:
            self.fail(f"Params takes {offset} bytes; at most 256 are allowed")
        self.params_bytes = (offset + 15) // 16 * 16
        return members

    def param_layout(self, kind):
        """The scalar type, number of scalars, alignment and size of a member, by WGSL's uniform layout rules."""
        if kind in SCALARS:
            return kind, 1, 4, 4
        if match := re.fullmatch(r"vec4<(\w+)>", kind):
            return match[1], 4, 16, 16
        if match := re.fullmatch(r"array<vec4<(\w+)>, (\d+)>", kind):
            return match[1], 4 * int(match[2]), 16, 16 * int(match[2])
        return self.fail(f"Params has a member of type {kind}; only u32, i32, f32, vec4 of these and arrays of vec4 are allowed")

    def read_limits(self, text, body):
        limits = {"invocations": 0, "workgroup_bytes": 0, "subgroups": "enable subgroups;" in self.enables, "matrix": False}
        for line in re.findall(r"^// limits: (.+)$", text, re.M):
            for part in line.split(","):
                key, _, value = part.partition("=")
                if key.strip() not in limits:
                    self.fail(f"the limits line names '{key.strip()}'; only {', '.join(limits)} exist")
                limits[key.strip()] = int(value) if value else True
        if limits["invocations"] == 0:
            sizes = re.findall(r"@workgroup_size\((\d+)(?:, (\d+))?\)", body)
            if not sizes:
                self.fail("has a computed @workgroup_size; say its largest in a `// limits: invocations = N` line")
            limits["invocations"] = max(int(a) * int(b or 1) for a, b in sizes)
        if "var<workgroup>" in text and limits["workgroup_bytes"] == 0:
            self.fail("uses workgroup memory; say how much in a `// limits: workgroup_bytes = N` line")
        return limits


def names_used(text):
    """The parts named by a file's `// use:` lines, in order."""
    return [name.strip() for names in re.findall(r"^// use: (.+)$", text, re.M) for name in names.split(",")]


def without_comments(text):
    """Comments and blank lines would only make the binary larger, and every change of them a change of the kernel."""
    lines = (re.sub(r"\s*//.*", "", line) for line in text.splitlines())
    return "\n".join(line for line in lines if line.strip()) + "\n"


def camel(name):
    return "".join(part[0].upper() + part[1:] for part in name.split("_"))


def member_name(choice_name):
    return choice_name[0].lower() + choice_name[1:]


def struct_members(kernel):
    for name, values, kind in kernel.choices:
        if kind in ("enum", "type"):
            yield f"enum class {camel(name)} : uint32_t {{ {', '.join(values)} }};"
    for name, access in kernel.bindings:
        yield f"ops::Operand {name};  // {access}"
    for name, scalar, count, _ in kernel.params:
        if count == 1:
            yield f"{SCALARS[scalar]} {name} = 0;"
        else:
            yield f"std::array<{SCALARS[scalar]}, {count}> {name} = {{}};"
    for name, values, kind in kernel.choices:
        if kind in ("enum", "type"):
            yield f"{camel(name)} {member_name(name)} = {camel(name)}::{values[0]};"
        elif kind == "bool":
            yield f"bool {member_name(name)} = false;"
        else:
            yield f"uint32_t {member_name(name)} = {values[0]};  // {' | '.join(values)}"


def variant_expression(kernel):
    """The chosen values as one number in mixed radix (record/kernel.h)."""
    terms, radix = [], 1
    for name, values, kind in kernel.choices:
        code = f"static_cast<uint32_t>({member_name(name)})"
        if kind == "u32":
            code = f"number_choice({member_name(name)}, {{{', '.join(values)}}})"
        terms.append(f"{code} * {radix}" if radix > 1 else code)
        radix *= len(values)
    if radix > 1 << 32:
        kernel.fail(f"has {radix} variants; at most 2^32 are allowed")
    return " + ".join(terms) or "0"


def header_struct(kernel, index):
    lines = [f"// src/ops/{kernel.path.parent.name}/{kernel.path.name}", f"struct {kernel.name} {{"]
    lines += [f"  {member}" for member in struct_members(kernel)]
    lines += ["", f"  static const record::KernelInfo& info() {{ return all()[{index}]; }}",
              f"  record::Variant variant() const {{ return {variant_expression(kernel)}; }}",
              "  void fill_operands(ops::Operand* to) const {"]
    lines += [f"    to[{i}] = {name};" for i, (name, _) in enumerate(kernel.bindings)]
    lines += ["  }", "  void fill_params(std::byte* to) const {"]
    lines += [f"    std::memcpy(to + {offset}, &{name}, sizeof {name});" for name, _, _, offset in kernel.params]
    return "\n".join(lines + ["  }", "};"])


def table_entry(kernel, index):
    """The constants that a kernel's entry refers to, and the entry itself."""
    n = kernel.name
    bindings = ", ".join(f'{{"{b}", record::Access::{a}}}' for b, a in kernel.bindings)
    constants = [f"constexpr record::KernelBinding {n}_bindings[] = {{{bindings}}};"]
    for name, values, _ in kernel.choices:
        spelled = ", ".join(f'"{v}"' for v in values)
        constants.append(f"constexpr std::string_view {n}_{name}_values[] = {{{spelled}}};")
    if kernel.choices:
        choices = ", ".join(f'{{"{c}", {n}_{c}_values, record::KernelChoice::Kind::{KIND_NAMES[k]}}}'
                            for c, _, k in kernel.choices)
        constants.append(f"constexpr record::KernelChoice {n}_choices[] = {{{choices}}};")
    constants.append(f'constexpr std::string_view {n}_source = R"wgsl({kernel.source})wgsl";')
    enables = "".join(e + "\\n" for e in kernel.enables)
    choices = f"{n}_choices" if kernel.choices else "{}"
    limits = kernel.limits
    entry = (f'    {{"{n}", {n}_source, "{enables}", {n}_bindings, {choices}, {kernel.params_bytes}, '
             f'{limits["invocations"]}, {limits["workgroup_bytes"]}, {str(bool(limits["subgroups"])).lower()}, {str(bool(limits["matrix"])).lower()}, {index}}}')
    return "\n".join(constants), entry


HEADER = """// Made by tools/build/kernels.py from the WGSL files of src/ops. Do not edit.
#pragma once

#include <array>
#include <cassert>
#include <cstring>
#include <initializer_list>
#include <span>

#include "ops/operand.h"
#include "record/kernel.h"

namespace sconce::kernels {

// Every kernel, by id.
std::span<const record::KernelInfo> all();

// The index of a numeric choice among its values.
inline uint32_t number_choice(uint32_t value, std::initializer_list<uint32_t> values) {
  uint32_t index = 0;
  while (index < values.size() && values.begin()[index] != value) ++index;
  assert(index < values.size());
  return index;
}

"""

SOURCE = """// Made by tools/build/kernels.py from the WGSL files of src/ops. Do not edit.
#include "kernels.h"

namespace sconce::kernels {
namespace {

%s

constexpr record::KernelInfo kKernels[] = {
%s,
};

}  // namespace

std::span<const record::KernelInfo> all() { return kKernels; }

}  // namespace sconce::kernels
"""


def write_if_changed(path, text):
    """Leaves the time stamp alone when nothing changed, so that no dependent file is compiled again."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ops", type=pathlib.Path, required=True, help="the folder src/ops")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder of kernels.h and kernels.cpp")
    args = parser.parse_args()
    files = {path: names_used(path.read_text()) for path in args.ops.rglob("*.wgsl")}
    parts = {name for used in files.values() for name in used}
    paths = sorted((path for path in files if path.stem not in parts), key=lambda path: path.stem)
    for a, b in zip(paths, paths[1:]):
        if a.stem == b.stem:
            sys.exit(f"{a} and {b} have the same name; kernels are named by their file.")
    kernels = [Kernel(path) for path in paths]
    structs = "\n\n".join(header_struct(k, i) for i, k in enumerate(kernels))
    constants, entries = zip(*(table_entry(k, i) for i, k in enumerate(kernels)))
    args.out.mkdir(parents=True, exist_ok=True)
    write_if_changed(args.out / "kernels.h", HEADER + structs + "\n\n}  // namespace sconce::kernels\n")
    write_if_changed(args.out / "kernels.cpp", SOURCE % ("\n".join(constants), ",\n".join(entries)))


if __name__ == "__main__":
    main()
