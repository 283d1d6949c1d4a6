"""Programs that must not load, with an error that names every operator without a kernel."""

import torch

from tools.fixtures.case import Case, fn, noise

CASES = [
    Case(
        "unknown_operators",
        fn(lambda x: torch.asinh(torch.erf(torch.cumsum(x.sigmoid(), 0)) + x)),
        lambda: (noise(4, 5),),
        loads=False,
    ),
]
