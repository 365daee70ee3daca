"""Agents that ask no model: one that does nothing, one that knows the solution, one that runs a script."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from proctor.engine.agents.contract import AgentJob, AgentWork
from proctor.errors import ConfigError
from proctor.sandbox.contract import Command, Mount

NO_PROGRAM = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True, slots=True)
class NullAgent:
    """Does nothing: what it scores, a task gives away."""

    mounts: Sequence[Mount] = ()
    sha256: str = NO_PROGRAM

    async def check(self) -> None:
        """It needs nothing."""

    async def work(self, job: AgentJob) -> AgentWork:
        return AgentWork()


@dataclass(frozen=True, slots=True)
class ReferenceAgent:
    """Applies the task's own solution: what it does not score, nobody can."""

    mounts: Sequence[Mount] = ()
    sha256: str = NO_PROGRAM

    async def check(self) -> None:
        """It needs nothing."""

    async def work(self, job: AgentJob) -> AgentWork:
        if job.patch is None:
            return AgentWork("failed", final="the task has no reference solution")
        applied = Command(("git", "apply", "--whitespace=nowarn", "-"), stdin=job.patch.read_bytes())
        ended = await job.box.run(applied)
        return AgentWork("failed" if ended.code else "done", ended.code)


@dataclass(frozen=True, slots=True)
class ScriptedAgent:
    """Runs a shell script of the user's in the repository; TASK_ROLLOUT tells it which rollout it is."""

    script: Path

    @property
    def mounts(self) -> Sequence[Mount]:
        return (Mount(self.script, "/opt/script.sh"),)

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.script.read_bytes()).hexdigest()

    async def check(self) -> None:
        if not self.script.is_file():
            raise ConfigError(f"No file {self.script}: it is the script of a scripted agent")

    async def work(self, job: AgentJob) -> AgentWork:
        env = {**job.environment, "TASK_ROLLOUT": str(job.rollout)}
        command = Command(("sh", "/opt/script.sh"), env, timeout_s=job.seconds, output=job.log)
        ended = await job.box.run(command)
        if ended.why == "timeout":
            return AgentWork("limit", ended.code, (f"stopped after {job.seconds:g} s",))
        return AgentWork("failed" if ended.code else "done", ended.code)
