"""Programs that must not load, with an error that names every operator without a kernel."""

import torch

from tools.fixtures.case import Case, fn, noise

CASES = [
    Case(
        "unknown_operators",
        fn(lambda x: torch.erfinv(torch.cumsum(torch.sort(x).values, 0).clamp(-0.9, 0.9)).lgamma()),
        lambda: (noise(4, 5),),
        loads=False,
    ),
]
