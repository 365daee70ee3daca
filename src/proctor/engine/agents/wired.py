"""What a command in a box has of a model: the gateway in its loopback, and what that saw of it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field

from proctor.engine.agents.contract import AgentJob
from proctor.engine.agents.steps import StepLog
from proctor.engine.gateway import PORT, Gateway, TrialGateway
from proctor.engine.room import room_for
from proctor.errors import AgentModelError, AttemptError
from proctor.replies.calls import CallLog, kept_calls
from proctor.replies.turns import steps_of
from proctor.trial_record import AgentCall, TrialStep

ENOUGH_REFUSALS = 20  # calls beyond a limit, after which an agent that does not end by itself is stopped
LEAST_DRAIN_S, MOST_DRAIN_S = 2.0, 20.0


@dataclass(slots=True)
class ModelWire:
    """One trial's way to its model, and `port` of 127.0.0.1 where the box has it.

    `before` is how many steps the kept calls told already: those of earlier stages of the same trial.
    """

    job: AgentJob
    trial: TrialGateway
    port: int
    before: int = 0
    notes: tuple[str, ...] = ()
    _began: float = field(default_factory=time.monotonic)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def put(self) -> Mapping[str, str]:
        """What stands in braces in an agent's table."""
        return {"{base_url}": self.base_url, "{port}": str(self.port)}

    @property
    def environment(self) -> Mapping[str, str]:
        """Where agents look for their model; the key says that there is none."""
        return {"OPENAI_BASE_URL": self.base_url, "OPENAI_API_KEY": "none"}

    def waited_s(self) -> float:
        """By how much the agent's end is put off: for what it waited through no fault of its own, to the deadline."""
        rest_s = None if self.job.deadline_s is None else max(0.0, self.job.deadline_s - self.job.seconds)
        waited_s = self.trial.clock.waited_s()
        return waited_s if rest_s is None else min(waited_s, rest_s)

    @property
    def over(self) -> bool:
        """Whether an agent that is still at work cannot get anywhere any more."""
        return self.trial.stop is not None or self.trial.refused >= ENOUGH_REFUSALS

    @property
    def drain_s(self) -> float:
        """How long calls that are under way at the agent's end are waited for."""
        if self.job.deadline_s is None:
            return MOST_DRAIN_S
        left_s = self.job.deadline_s - (time.monotonic() - self._began)
        return min(MOST_DRAIN_S, max(LEAST_DRAIN_S, left_s))

    def need_sound(self, agent: str, *, stopped: bool) -> None:
        """Raises: what ends the run; AgentModelError where its model's server failed the agent, or was waited for
        so long that it had not its time (`stopped` says that its time was over)."""
        trial, whole = self.trial, self.trial.spending.whole
        if trial.stop is not None:
            if isinstance(trial.stop, AttemptError):
                trial.stop.usage = whole
            raise trial.stop
        if trial.fault is not None and not trial.limits_met and not stopped:
            raise AgentModelError(f"agent {agent}: {trial.fault}", status=trial.fault.status, usage=whole)
        waited_s = trial.clock.waited_s()
        if stopped and waited_s - self.waited_s() >= self.job.seconds / 2:
            raise AgentModelError(
                f"agent {agent} waited {waited_s:.0f} s for its model's server, and could not work for its "
                f"{self.job.seconds:g} s before the trial had to end. Fewer trials at once, or a longer trial_s, help",
                usage=whole,
            )

    def steps(self) -> StepLog | None:
        """The steps that its calls tell; None where it made none."""
        steps = StepLog()
        for step in _steps(self.job)[self.before :]:
            steps.add(step)
        return steps if steps.steps else None


def _steps(job: AgentJob) -> Sequence[TrialStep]:
    if job.calls is None or not job.calls.exists():
        return ()
    with job.calls.open("rb") as lines:
        return list(steps_of(kept_calls(lines)))


@asynccontextmanager
async def wired(gateway: Gateway | None, job: AgentJob) -> AsyncIterator[ModelWire | None]:
    """Serve a box until the block ends; its calls are counted and kept then. None without a model.

    Raises: SandboxError where the box can have no loopback.
    """
    if gateway is None:
        yield None
        return
    loopback = await job.box.listen(PORT)
    keeping: AbstractContextManager[CallLog | None] = nullcontext()
    if job.calls is not None:
        keeping = CallLog(job.calls, gateway.scrub)
    with keeping as log:

        def keep(call: AgentCall) -> None:
            if log is not None:
                with room_for(log.path):
                    log.add(call)

        trial = TrialGateway(gateway, job.limits, keep)
        wire = ModelWire(job, trial, loopback.port, len(_steps(job)))
        try:
            async with trial.serving(loopback, lambda: wire.drain_s):
                yield wire
        except AttemptError as error:
            error.usage = trial.spending.whole
            raise
        uncounted = () if trial.spending.counted else (UNCOUNTED,)
        wire.notes = (*trial.notes, *uncounted, *(() if log is None else log.notes))


UNCOUNTED = "The server of the agent's model does not tell all tokens."
