"""Progress on stderr: a line for each finished step, and a bar with the elapsed time while one runs on a terminal."""

import contextlib
import os
import threading
import time

BAR_WIDTH = 30
TICK_SECONDS = 0.5


class Progress:
    """Times the steps of a command. `steps` is a list of (title, share), shares being the usual seconds of each."""

    def __init__(self, steps):
        self.steps = steps
        self.done = 0
        self.stream = os.fdopen(os.dup(2), "w")  # still the terminal while quiet() redirects 2

    @contextlib.contextmanager
    def step(self):
        """Runs the next step: shows its title while the body runs, and its duration afterwards."""
        title, _ = self.steps[self.done]
        label = f"[{self.done + 1}/{len(self.steps)}] {title}"
        start = time.monotonic()
        with self._bar(label, start) if self.stream.isatty() else contextlib.nullcontext():
            yield
        self.done += 1
        self.stream.write(f"{label}: {time.monotonic() - start:.1f} s\n")
        self.stream.flush()

    @contextlib.contextmanager
    def _bar(self, label, start):
        shares = [share for _, share in self.steps]
        filled = round(BAR_WIDTH * sum(shares[: self.done]) / sum(shares))
        bar = "#" * filled + "." * (BAR_WIDTH - filled)
        stopped = threading.Event()

        def tick():
            while not stopped.wait(TICK_SECONDS):
                self.stream.write(f"\r\033[K{bar} {label}: {time.monotonic() - start:.0f} s")
                self.stream.flush()

        thread = threading.Thread(target=tick, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stopped.set()
            thread.join()
            self.stream.write("\r\033[K")
