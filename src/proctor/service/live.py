"""A run while it is watched: its state, its pulse, the end of its log, and whether the server may stop it."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.errors import NotFound
from proctor.service import jobs_view, queue, waits
from proctor.service.desk import Desk
from proctor.service.jobs_view import JobState, RunLine, Wanted
from proctor.service.waits import Waits
from proctor.store import pulses, runlog
from proctor.store.pulses import Pulse
from proctor.store.queue import Job
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


def live_of(desk: Desk, run_id: str) -> Live:
    """Raises NotFound."""
    state = jobs_view.state_of(desk, run_id)
    try:
        job = queue.job(desk.store, run_id)
    except NotFound:
        job = None
    at_work = state.run.status is Status.RUNNING
    waiting = waits.told(desk.settings.home, state.run.id) if at_work else waits.NONE
    return Live(state, jobs_view.pulse_of(desk, state.run), job, waiting)


def active(desk: Desk, project_id: int | None = None, *, limit: int = 10) -> list[Live]:
    """The runs that work or wait, the newest first."""
    lines: list[RunLine] = []
    for status in (Status.RUNNING, Status.PENDING):
        lines += jobs_view.run_lines(desk, Wanted(status=status, project_id=project_id), limit=limit)[0]
    lying = jobs_view.by_hand(desk, lines)  # what a terminal left is neither at work nor in the queue
    return [live_of(desk, line.id) for line in lines if not lying.get(line.id)][:limit]


def pulses_of(desk: Desk, run_id: str) -> list[Pulse]:
    """The oldest first. Raises NotFound."""
    return pulses.of_run(desk.store, run_id)


def log_tail(desk: Desk, run_id: str) -> str | None:
    """The end of the run's log; None if this machine has none. Raises NotFound."""
    return runlog.tail(desk.settings.home, jobs_view.run_of(desk, run_id).id)
