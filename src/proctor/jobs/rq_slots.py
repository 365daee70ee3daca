"""The RQ workers beside a worker: each a process that does one run at a time, in a place of its own.

A slot's process ends when its standard input ends, which its starter holds: whatever becomes of that, nothing is left
behind. Its work horse reads the same, and holds the same standard output: when that ends, both are gone.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

SHORT_LIFE_S = 10.0
LONGEST_PAUSE_S = 30.0
LONGEST_END_S = 11.0  # a work horse gives its run 5 s to end and 5 s to be killed


@dataclass(slots=True)
class Slot:
    """A place for one RQ worker and, while it has a run, its work horse."""

    command: Sequence[str]
    environ: Mapping[str, str]
    log: Callable[[str], None]
    process: subprocess.Popen[bytes] | None = None
    began: float = 0.0
    start_at: float = 0.0
    pause_s: float = 0.5

    def look(self, there: bool, now: float) -> None:
        """Have an RQ worker at work while Redis is there, and none while it is away."""
        if self.process is None:
            if there and now >= self.start_at:
                self._start(now)
            return
        if not there and self.process.poll() is None:
            # It would wait longer and longer for Redis. Its horse goes on with its run.
            self.process.kill()
            self.process.wait()
            self.pause_s = 0.0
        if self.process.poll() is not None and self.gone():
            self._ended(now)

    def _start(self, now: float) -> None:
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=dict(self.environ),
            start_new_session=True,  # Ctrl-C is for the worker alone, which ends its slots in good order
        )
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)
        self.began = now

    def _ended(self, now: float) -> None:
        assert self.process is not None
        code, lived_s = self.process.returncode, now - self.began
        self.let_go()
        self.process.stdout.close()  # type: ignore[union-attr]  # it was opened with a pipe
        self.process = None
        if self.pause_s:
            self.pause_s = 0.5 if lived_s >= SHORT_LIFE_S else min(2 * self.pause_s, LONGEST_PAUSE_S)
            self.log(f"an RQ worker ended with code {code}; another starts in {self.pause_s:g} s")
        self.start_at = now + self.pause_s
        self.pause_s = self.pause_s or 0.5

    def let_go(self) -> None:
        """From now on it ends in good order: its run's process is told, and the run waits for the next worker."""
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()

    def gone(self) -> bool:
        """Whether the RQ worker and its work horse have both ended."""
        if self.process is None:
            return True
        assert self.process.stdout is not None
        try:
            while said := os.read(self.process.stdout.fileno(), 65536):
                del said  # what it has to say stands on standard error
        except BlockingIOError:
            return False
        self.process.wait()
        return True

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@dataclass(slots=True)
class WorkerSlots:
    """As many slots as runs may be at work here at once."""

    slots: list[Slot] = field(default_factory=list)

    def look(self, there: bool) -> None:
        now = time.monotonic()
        for slot in self.slots:
            slot.look(there, now)

    def close(self) -> None:
        """End them all in good order; what does not end is killed."""
        for slot in self.slots:
            slot.let_go()
        deadline = time.monotonic() + LONGEST_END_S
        while not all(slot.gone() for slot in self.slots) and time.monotonic() < deadline:
            time.sleep(0.05)
        for slot in self.slots:
            slot.kill()
