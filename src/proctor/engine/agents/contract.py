"""What every agent is: something that works in a box on an instruction, within limits, and leaves files behind."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from proctor.offered import ListedModel
from proctor.references import TrialLimits
from proctor.sandbox.contract import REPO, Box, Mount
from proctor.trial_record import AgentEnd, TrialStep
from proctor.types import NOTHING_USED, Usage


@dataclass(frozen=True, slots=True)
class AgentJob:
    """What an agent is given. It begins at `cwd` of the box, where the work lies, and what it prints goes to `log`.

    `patch` is the task's reference solution, for the agent that knows it; None where the task has none. Tasks of
    others have a folder with a script instead, `solution`, which wants variables of its own. `seconds` is
    how long it may work, which it keeps to by itself; what it waits for its model's server is not counted, but it
    ends at `deadline_s` at the latest, None: never. `task` is the task's id.
    """

    box: Box
    instruction: str
    environment: Mapping[str, str]
    limits: TrialLimits
    seconds: float
    log: Path
    patch: Path | None = None
    rollout: int = 0
    task: str = ""
    deadline_s: float | None = None
    calls: Path | None = None  # where the calls of its model are kept
    cwd: str = REPO
    solution: Path | None = None
    solution_env: Mapping[str, str] = field(default_factory=dict)

    @property
    def told(self) -> Mapping[str, str]:
        """All variables that an agent's commands see: the task's own, and what it is told of this trial."""
        own = {"TASK_ID": self.task, "TASK_ROLLOUT": str(self.rollout), "TASK_SECONDS": f"{self.seconds:.0f}"}
        return {**self.environment, **own}

    @property
    def output_bytes(self) -> int:
        """How much of what it prints is kept."""
        return int(self.limits.output_mb * 1e6)


@dataclass(frozen=True, slots=True)
class AgentWork:
    """How an agent's work ended, and what it took. `calls` None: nobody counted them.

    `usage` is of all requests whose replies it used, `unused` of the others.
    """

    ended: AgentEnd = "done"
    exit_code: int | None = None
    limits_met: tuple[str, ...] = ()
    usage: Usage = NOTHING_USED
    calls: int | None = None
    steps: tuple[TrialStep, ...] = ()
    final: str = ""  # its last words, or why it ended
    unused: Usage = NOTHING_USED
    steps_left_out: int = 0
    notes: tuple[str, ...] = ()


class AgentAtWork(Protocol):
    """An agent, ready. One serves all trials of a run, many at once."""

    @property
    def mounts(self) -> Sequence[Mount]:
        """What its boxes must show it: its binary."""

    @property
    def sha256(self) -> str:
        """The hash of its program, script or prompt, so that a result tells what made it. After `check`."""

    @property
    def unsent(self) -> Collection[str]:
        """The fields of Sampling that do not reach its model."""

    @property
    def adjustments(self) -> Sequence[str]:
        """Parameters that its model's server made us drop or rename, in words."""

    async def check(self) -> ListedModel | None:
        """Before anything is spent: the model that proctor asks for it. Raises: ConfigError, ProviderError."""

    async def warm(self) -> None:
        """Have its model loaded, so that loading stands outside the clock."""

    async def work(self, job: AgentJob) -> AgentWork:
        """Work on one task. What the agent does wrong is told in AgentWork.

        Raises: SandboxError; AgentModelError and what else AskedModel.ask raises, with the usage of the whole trial;
        ConfigError where a limit cannot be kept.
        """
