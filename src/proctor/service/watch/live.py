"""A run while it is watched: its state, its pulse, the end of its log, and whether the server may stop it."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.errors import NotFound
from proctor.service.context import Context
from proctor.service.runs import queue, waits
from proctor.service.runs.waits import Waits
from proctor.service.watch import job_states
from proctor.service.watch.job_states import JobState, RunFilter, RunLine
from proctor.store.queue import runlog
from proctor.store.queue.entries import Job
from proctor.store.write import throughput
from proctor.store.write.throughput import Pulse
from proctor.types import Run, Status

__all__ = ["Live", "Pulse", "active", "live_of", "log_tail", "pulses_of"]


@dataclass(frozen=True, slots=True)
class Live:
    """`job` is None for a run of the command line, which the server can neither stop nor restart."""

    state: JobState
    pulse: Pulse | None
    job: Job | None
    waits: Waits = waits.NONE

    @property
    def waiting(self) -> list[str]:
        """What the run waits for just now, a sentence each."""
        return waits.words(self.waits)

    @property
    def run(self) -> Run:
        return self.state.run

    @property
    def mark(self) -> tuple[object, ...]:
        """Another as soon as there is something new to see."""
        run = self.run
        return (
            run.status,
            run.settled,
            run.planned,
            run.error,
            self.pulse and self.pulse.at,
            self.waits.at,
            self.state.ahead,
        )


def live_of(context: Context, run_id: str) -> Live:
    """Raises NotFound."""
    state = job_states.state_of(context, run_id)
    try:
        job = queue.job(context.store, run_id)
    except NotFound:
        job = None
    at_work = state.run.status is Status.RUNNING
    waiting = waits.told(context.settings.home, state.run.id) if at_work else waits.NONE
    return Live(state, job_states.pulse_of(context, state.run), job, waiting)


def active(context: Context, project_id: int | None = None, *, limit: int = 10) -> list[Live]:
    """The runs that work or wait, the newest first."""
    lines: list[RunLine] = []
    for status in (Status.RUNNING, Status.PENDING):
        lines += job_states.run_lines(context, RunFilter(status=status, project_id=project_id), limit=limit)[
            0
        ]
    lying = job_states.by_hand(context, lines)  # what a terminal left is neither at work nor in the queue
    return [live_of(context, line.id) for line in lines if not lying.get(line.id)][:limit]


def pulses_of(context: Context, run_id: str) -> list[Pulse]:
    """The oldest first. Raises NotFound."""
    return throughput.of_run(context.store, run_id)


def log_tail(context: Context, run_id: str) -> str | None:
    """The end of the run's log; None if this machine has none. Raises NotFound."""
    return runlog.tail(context.settings.home, job_states.run_of(context, run_id).id)
