"""Fails when a WebAssembly module imports more than it may, or is too large; prints its sizes."""

import argparse
import gzip
import sys


def read_leb128(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        shift += 7
        if byte < 0x80:
            return value, at


def read_name(data, at):
    size, at = read_leb128(data, at)
    return data[at : at + size].decode(), at + size


def skip_limits(data, at):
    has_maximum = data[at] & 1
    at += 1
    for _ in range(1 + has_maximum):
        _, at = read_leb128(data, at)
    return at


def imports(data):
    """The names in the import section (id 2)."""
    if data[:8] != b"\0asm\1\0\0\0":
        sys.exit("error: This is not a WebAssembly module.")
    at = 8
    while at < len(data):
        section = data[at]
        size, at = read_leb128(data, at + 1)
        if section == 2:
            break
        at += size
    else:
        return []
    names = []
    count, at = read_leb128(data, at)
    for _ in range(count):
        module, at = read_name(data, at)
        field, at = read_name(data, at)
        names.append(f"{module}.{field}")
        kind = data[at]
        at += 1
        if kind == 0:  # function: a type index
            _, at = read_leb128(data, at)
        elif kind == 1:  # table: element type, limits
            at = skip_limits(data, at + 1)
        elif kind == 2:  # memory
            at = skip_limits(data, at)
        else:  # global: type, mutability
            at += 2
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path")
    parser.add_argument("--imports", nargs="*", default=[], help="names that may be imported")
    parser.add_argument("--most-bytes", type=int)
    parser.add_argument("--most-gzip-bytes", type=int)
    arguments = parser.parse_args()
    with open(arguments.path, "rb") as file:
        data = file.read()
    names, zipped = imports(data), len(gzip.compress(data))
    print(f"{arguments.path}: {len(data)} bytes, {zipped} with gzip, {len(names)} imports")
    if surplus := sorted(set(names) - set(arguments.imports)):
        sys.exit(f"error: The module also imports {', '.join(surplus)}.")
    for size, most in ((len(data), arguments.most_bytes), (zipped, arguments.most_gzip_bytes)):
        if most and size > most:
            sys.exit(f"error: The module has {size} bytes; at most {most} are wanted.")


if __name__ == "__main__":
    main()
