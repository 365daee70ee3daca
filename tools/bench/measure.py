"""Runs one command and prints, as one JSON line, what its whole process tree cost.

    python measure.py TIMEOUT_S OUT ERR COMMAND...

This process adopts the command's orphans (Linux) and ends when the last of them has gone; then its
RUSAGE_CHILDREN is the CPU time of the tree. Memory is the largest sum of resident sizes over the
tree that was sampled; pages that several processes share are counted in each.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

SAMPLE_EVERY_S = 0.05
PR_SET_CHILD_SUBREAPER = 36
# getrusage counts in KiB on Linux, in bytes on macOS.
RSS_UNIT_BYTES = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True, slots=True)
class Usage:
    """What a command cost. `started_at` is Unix time just before its exec; `wall_s` ends with its exit."""

    returncode: int
    overdue: bool
    started_at: float
    wall_s: float
    cpu_s: float
    peak_rss_bytes: int
    processes: int


class Sampler:
    """Looks at this process's descendants until stopped, and remembers the most that it saw."""

    def __init__(self) -> None:
        self.peak_rss_bytes = 0
        self.processes = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        me = psutil.Process()
        while not self._stop.wait(SAMPLE_EVERY_S):
            sizes = [_rss_bytes(process) for process in me.children(recursive=True)]
            self.peak_rss_bytes = max(self.peak_rss_bytes, sum(sizes))
            self.processes = max(self.processes, len(sizes))


def _rss_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0  # it ended between the two looks


def _kill_tree() -> None:
    """End whatever this process started, and nothing else."""
    for process in psutil.Process().children(recursive=True):
        try:
            process.kill()
        except psutil.Error:
            pass  # it was quicker


def _adopt_orphans() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _wait_for_orphans() -> None:
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        return  # nobody is left


def measure(command: Sequence[str], *, out: Path, err: Path, timeout_s: float) -> Usage:
    """Run the command to its end, its output in files; after `timeout_s` its whole tree is killed."""
    _adopt_orphans()
    sampler = Sampler()
    clock = threading.Timer(timeout_s, _kill_tree)
    clock.daemon = True
    clock.start()
    try:
        with out.open("wb") as said, err.open("wb") as complained:
            started_at, start = time.time(), time.perf_counter()
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=complained)
            returncode = child.wait()
            wall_s = time.perf_counter() - start
        _wait_for_orphans()
    finally:
        _kill_tree()
        overdue = clock.finished.is_set()
        clock.cancel()
        sampler.stop()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Usage(
        returncode=returncode,
        overdue=overdue,
        started_at=started_at,
        wall_s=wall_s,
        cpu_s=used.ru_utime + used.ru_stime,
        # The kernel's own high-water mark of the largest process catches a peak between two samples.
        peak_rss_bytes=max(sampler.peak_rss_bytes, used.ru_maxrss * RSS_UNIT_BYTES),
        processes=sampler.processes,
    )


def main() -> int:
    timeout_s, out, err, *command = sys.argv[1:]
    usage = measure(command, out=Path(out), err=Path(err), timeout_s=float(timeout_s))
    print(json.dumps(asdict(usage)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
