"""Keeps worker processes running beside the server: starts them again when they die, ends them with it."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

LOOK_EVERY_S = 0.2
SHORT_LIFE_S = 10.0  # one that dies sooner is started again after a longer and longer pause
LONGEST_PAUSE_S = 30.0
LONGEST_END_S = 12.0  # a worker gives its runs 5 s to end and 5 s to be killed


@dataclass(slots=True)
class WorkerPlace:
    """A worker's place: who is in it now, and when the next may start."""

    process: subprocess.Popen[bytes] | None = None
    began: float = 0.0
    start_at: float = 0.0
    pause_s: float = 0.5


@dataclass(slots=True)
class Supervisor:
    """Runs `command` as `count` processes between `start` and `close`."""

    command: Sequence[str]
    environ: Mapping[str, str]
    count: int
    log: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    places: list[WorkerPlace] = field(default_factory=list)
    _over: threading.Event = field(init=False, default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        self.places = [WorkerPlace() for _ in range(self.count)]
        self._thread = threading.Thread(target=self._watch, name="supervisor", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the workers, who end their runs' processes; what does not end is killed."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        alive = [place.process for place in self.places if place.process is not None]
        for process in alive:
            process.send_signal(signal.SIGTERM)
        deadline = self.clock() + LONGEST_END_S
        for process in alive:
            try:
                process.wait(max(0.1, deadline - self.clock()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _watch(self) -> None:
        while True:
            for place in self.places:
                self._look(place)
            if self._over.wait(LOOK_EVERY_S):
                return

    def _look(self, place: WorkerPlace) -> None:
        now = self.clock()
        if place.process is not None and place.process.poll() is not None:
            lived_s = now - place.began
            place.pause_s = 0.5 if lived_s >= SHORT_LIFE_S else min(2 * place.pause_s, LONGEST_PAUSE_S)
            place.start_at = now + place.pause_s
            self.log(
                f"the worker (process {place.process.pid}) ended with code {place.process.returncode}; "
                f"another starts in {place.pause_s:g} s"
            )
            place.process = None
        if place.process is None and now >= place.start_at:
            place.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, env=dict(self.environ))
            place.began = now
