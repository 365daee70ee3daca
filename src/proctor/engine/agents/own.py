"""Agents that ask no model: one that does nothing, one that knows the solution, one that runs a script."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from proctor.engine.agents.contract import AgentJob, AgentWork
from proctor.errors import ConfigError
from proctor.offered import ListedModel
from proctor.providers.contract import ALL_SAMPLING
from proctor.sandbox.contract import Command, CommandEnd, Mount
from proctor.sources.rollouts.place import SOLUTION
from proctor.sources.rollouts.task import SOLVE

NO_PROGRAM = hashlib.sha256(b"").hexdigest()
SCRIPT = "/opt/script.sh"


def variables(pairs: Sequence[str]) -> Mapping[str, str]:
    """NAME=value of a table, as a mapping."""
    return dict(each.split("=", 1) for each in pairs)


def time_met(ended: CommandEnd, seconds: float) -> tuple[str, ...]:
    """The limit that ended a command of so many seconds, in words; none where it ended by itself."""
    return (f"stopped after {seconds:g} s",) if ended.why == "timeout" else ()


@dataclass(frozen=True, slots=True)
class NullAgent:
    """Does nothing: what it scores, a task gives away."""

    mounts: Sequence[Mount] = ()
    sha256: str = NO_PROGRAM
    unsent: Collection[str] = ALL_SAMPLING
    adjustments: Sequence[str] = ()

    async def check(self) -> ListedModel | None:
        """It needs nothing."""
        return None

    async def warm(self) -> None:
        """Nothing to load."""

    async def work(self, job: AgentJob) -> AgentWork:
        return AgentWork()


@dataclass(frozen=True, slots=True)
class ReferenceAgent(NullAgent):
    """Applies the task's own solution: what it does not score, nobody can."""

    async def work(self, job: AgentJob) -> AgentWork:
        if job.solution is not None:
            return await _solved(job, job.solution)
        if job.patch is None:
            raise ConfigError(
                f"{job.task or 'The task'} has no reference patch (overlay_files/diff.patch), so the agent "
                "`reference` cannot work on it: leave it out for this task"
            )
        words = ("git", "apply", "--whitespace=nowarn", "-")
        applied = Command(words, cwd=job.cwd, stdin=job.patch.read_bytes())
        ended = await job.box.run(applied)
        if ended.code:
            said = ended.said.decode("utf-8", "replace").strip()
            return AgentWork("failed", ended.code, final=f"the reference patch does not apply: {said}")
        return AgentWork("done", ended.code)


@dataclass(frozen=True, slots=True)
class ScriptedAgent:
    """Runs a shell script of the user's in the repository; TASK_ID and TASK_ROLLOUT tell it what it works on."""

    script: Path
    environment: Sequence[str] = ()
    unsent: Collection[str] = ALL_SAMPLING
    adjustments: Sequence[str] = ()

    @property
    def mounts(self) -> Sequence[Mount]:
        return (Mount(self.script, SCRIPT),)

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.script.read_bytes()).hexdigest()

    async def check(self) -> ListedModel | None:
        if not self.script.is_file():
            raise ConfigError(f"No file {self.script}: it is the script of a scripted agent")
        return None

    async def warm(self) -> None:
        """Nothing to load."""

    async def work(self, job: AgentJob) -> AgentWork:
        env = {**job.told, **variables(self.environment)}
        return await _ran(job, ("sh", SCRIPT), env)


async def _solved(job: AgentJob, solution: Path) -> AgentWork:
    """The script of a task of others that solves it, in its folder."""
    await job.box.put(solution, SOLUTION)
    return await _ran(job, ("bash", f"{SOLUTION}/{SOLVE}"), {**job.told, **job.solution_env})


async def _ran(job: AgentJob, argv: Sequence[str], env: Mapping[str, str]) -> AgentWork:
    command = Command(
        argv, env, job.cwd, timeout_s=job.seconds, output=job.log, output_bytes=job.output_bytes
    )
    ended = await job.box.run(command)
    if met := time_met(ended, job.seconds):
        return AgentWork("limit", ended.code, met)
    return AgentWork("failed" if ended.code else "done", ended.code)
