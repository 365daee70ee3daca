"""What every agent is: something that works in a box on an instruction, within limits, and leaves files behind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from proctor.references import TrialLimits
from proctor.sandbox.contract import Box, Mount
from proctor.trial_record import AgentEnd, TrialStep
from proctor.types import NOTHING_USED, Message, Reply, Usage

# Asks the agent's model; waits for a place at its server and repeats what may pass. Raises: AgentModelError,
# ProviderError that stops the run.
AskModel = Callable[[Sequence[Message]], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class AgentJob:
    """What an agent is given. The repository is at /app/repo of the box, and what it prints goes to `log`.

    `patch` is the task's reference solution, for the agent that knows it; None where the task has none. `seconds` is
    how long it may take; it is stopped from outside then, too.
    """

    box: Box
    instruction: str
    environment: Mapping[str, str]
    limits: TrialLimits
    seconds: float
    log: Path
    patch: Path | None = None
    rollout: int = 0


@dataclass(frozen=True, slots=True)
class AgentWork:
    """How an agent's work ended, and what it took. `calls` None: nobody counted them."""

    ended: AgentEnd = "done"
    exit_code: int | None = None
    limits_met: tuple[str, ...] = ()
    usage: Usage = NOTHING_USED
    calls: int | None = None
    steps: tuple[TrialStep, ...] = ()
    final: str = ""  # its last words


class AgentAtWork(Protocol):
    """An agent, ready. One serves all trials of a run, many at once."""

    @property
    def mounts(self) -> Sequence[Mount]:
        """What its boxes must show it: its binary."""

    @property
    def sha256(self) -> str:
        """The hash of its program or script, so that a result tells what made it."""

    async def check(self) -> None:
        """Before anything is spent. Raises: ConfigError, ProviderError."""

    async def work(self, job: AgentJob) -> AgentWork:
        """Work on one task. What the agent does wrong is told in AgentWork; raises SandboxError, AgentModelError."""
