"""Holds back the pages that torch, ExecuTorch and their C++ libraries print, and shows them when something fails."""

import contextlib
import os
import sys
import tempfile
import traceback

from tools.export.errors import ExportError

SHOWN_LINES = 40


@contextlib.contextmanager
def quiet():
    """Sends file descriptors 1 and 2 to a temporary file while the body runs (C++ does not know sys.stdout)."""
    with tempfile.TemporaryFile("w+", errors="replace") as printed:
        sys.stdout.flush()
        sys.stderr.flush()
        saved = [os.dup(1), os.dup(2)]
        os.dup2(printed.fileno(), 1)
        os.dup2(printed.fileno(), 2)
        try:
            yield
        except ExportError:
            raise
        except Exception as error:
            traceback.print_exc()
            sys.stderr.flush()
            raise ExportError(f"ExecuTorch's exporter fails; its last lines are:\n{_tail(printed)}") from error
        finally:
            for target, descriptor in enumerate(saved, start=1):
                os.dup2(descriptor, target)
                os.close(descriptor)


def _tail(printed):
    printed.seek(0)
    return "".join(printed.readlines()[-SHOWN_LINES:]).rstrip()
