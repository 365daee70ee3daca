"""The process that does a run's work, as its worker sees it: started, measured by its group, signalled."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from proctor.store.queue import runlog
from proctor.store.queue.workers import Load
from proctor.types import Run

NICE = 10  # of a run's process; the server's and the worker's is 0


@dataclass(slots=True)
class Child:
    """A process at work on a run; it leads a process group, and a session, of its own."""

    run: Run
    owner: str
    process: subprocess.Popen[bytes]
    began: float
    told_to_end: float | None = None
    excess: str | None = None  # the limit that it passed, in words
    excess_slug: str = "resource-limit"
    renew_at: float = 0.0
    helps: bool = False  # with shards of a run that another process owns
    no_room: str | None = None  # why it was told to end, if that was a full disk
    load: Load | None = None
    cpu_s: float | None = None  # of the processor, when it was measured last

    @property
    def group(self) -> int:
        return self.process.pid

    def measured(self, memory_bytes: int, cpu_s: float, *, after_s: float) -> None:
        """What its processes use, `after_s` seconds after the last measurement."""
        # A process of the group that has ended takes its time with it.
        cores = None if self.cpu_s is None or after_s <= 0 else max(0.0, cpu_s - self.cpu_s) / after_s
        self.load, self.cpu_s = Load(memory_bytes, cores), cpu_s

    def signal(self, number: int) -> None:
        """Send a signal to the whole group; one that has ended does not mind."""
        try:
            os.killpg(self.group, number)
        except (ProcessLookupError, PermissionError):
            return

    def how_it_ended(self) -> str:
        """For people, once the process has ended."""
        code = self.process.returncode
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return f"the process that did the work ended with {how}"


def command(run_id: str, owner: str, lease_s: float) -> list[str]:
    """The command line of the process that does a run's work."""
    words = [sys.executable, "-m", "proctor", "work-on", run_id]
    return [*words, "--owner", owner, "--lease", f"{lease_s:g}"]


def helper_command(run_id: str, owner: str, lease_s: float) -> list[str]:
    """The command line of a process that helps with a run which another owns."""
    return [*command(run_id, owner, lease_s), "--helps"]


def start(
    words: Sequence[str], run: Run, owner: str, *, home: Path, environ: Mapping[str, str], now: float
) -> Child:
    """Start the process; what it says goes to the run's log. Raises OSError."""
    log = runlog.opened(home, run.id)
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=dict(environ),
            # A worker that is ended by Ctrl-C or a hang-up ends its children itself, in good order.
            start_new_session=True,
        )
    finally:
        os.close(log)
    if run.cell.agent is None:  # an agent's trials have limits of time, which nothing else should stretch
        _give_way(process.pid)
    return Child(run, owner, process, now)


def _give_way(pid: int) -> None:
    """Whoever asks the server is answered first; the run gets all that is left, which mostly is nearly all."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, NICE)
    with suppress(OSError):  # where sessions are weighed before processes: the run has one of its own
        Path(f"/proc/{pid}/autogroup").write_text(str(NICE))
