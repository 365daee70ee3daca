"""The process that runs the gauntlet's trials: it has the canaries in its environment, and is looked at from outside.

It reads a request on each line of its input and answers with a line. A request is one exploit in one setting.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from proctor.engine.agents.contract import AgentAtWork
from proctor.engine.agents.own import NullAgent, ScriptedAgent
from proctor.engine.trials.runner import TrialRunner
from proctor.errors import ProctorError
from proctor.references import RolloutsRef, TaskEntry, TrialLimits
from proctor.sandbox.contract import Policy, Sandbox
from proctor.sandbox.image import make_image
from proctor.sandbox.opening import open_sandbox
from proctor.service.gauntlet.metered import MeteredCalls, open_gateway_to, through_gateway
from proctor.service.gauntlet.model import ModelServer
from proctor.service.gauntlet.sharing import SharedJob, shared_score
from proctor.service.gauntlet.straw import Straw
from proctor.settings import read_settings
from proctor.sources.rollouts.source import open_rollouts
from proctor.trial_record import TrialRecord, record_from
from proctor.types import Model, Reply

GATEWAY = "gateway-abuse"
SHARED = ("shared-container", "trusted-files", "parsed-log", "host-collected")
VICTIM_LIMITS = TrialLimits(agent_s=30.0, verifier_s=30.0, memory_mb=192, cpus=0.5, pids=48, disk_mb=48)


@dataclass(frozen=True, slots=True)
class ExploitWish:
    """A request. `setting` is "own" for the sandbox under test, else a control."""

    stamp: str
    group: str
    task: str
    script: str
    setting: str
    environment: Sequence[str]
    limits: Mapping[str, float]
    victim: str = ""  # the folder of the task on which another trial runs beside, and its script
    victim_script: str = ""
    later: bool = False
    repository: str = ""  # with its history; for containers that are shared


@dataclass(frozen=True, slots=True)
class TrialTold:
    """An answer. `used` is what the sandbox measured, `record` what proctor says of the trial."""

    score: float | None = None
    error: str = ""
    later: float | None = None
    victim: str = ""
    used: Mapping[str, float | None] = field(default_factory=dict)
    record: Mapping[str, Any] = field(default_factory=dict)
    model: Mapping[str, Any] = field(default_factory=dict)  # what its server says of the calls


@dataclass(slots=True)
class Trying:
    """The sandbox under test, the weak ones, and one PROCTOR_HOME for all trials."""

    home: Path
    room: Path
    sandbox: Sandbox

    @classmethod
    def of(cls, name: str, room: Path) -> Trying:
        """Raises: SandboxMissing, ConfigError."""
        home = room / "home"
        return cls(home, room, open_sandbox(RolloutsRef("gauntlet", sandbox=name), home))

    async def tried(self, wish: ExploitWish) -> TrialTold:
        if wish.setting in SHARED:
            return await self._shared(wish)
        if wish.group == GATEWAY:
            return await self._metered(wish)
        sandbox = self.sandbox if wish.setting == "own" else self._straw(shown=self.room)
        beside = asyncio.create_task(self._victim(wish, sandbox))
        try:
            told = await self._own(wish, sandbox)
        finally:
            victim = await beside
        return replace(told, victim=victim)

    async def _own(self, wish: ExploitWish, sandbox: Sandbox) -> TrialTold:
        agent = ScriptedAgent(Path(wish.script), tuple(wish.environment))
        limits = TrialLimits(**wish.limits)  # type: ignore[arg-type]  # whole numbers stay so in JSON
        runner = self._runner(wish.task, f"{wish.stamp}-e", limits, sandbox, agent)
        try:
            record = await self._record(runner, 0)
        except ProctorError as error:
            return TrialTold(None, f"{type(error).__name__}: {error}")
        used = asdict(record.agent_used)
        return TrialTold(record.score, "", await self._later(runner, wish), "", used, asdict(record))

    async def _metered(self, wish: ExploitWish) -> TrialTold:
        """An exploit against the gateway, ours or an open one."""
        settings, script = read_settings(os.environ), Path(wish.script)
        limits = TrialLimits(**wish.limits)  # type: ignore[arg-type]  # whole numbers stay so in JSON
        server = ModelServer()

        async def trial(agent: AgentAtWork, sandbox: Sandbox) -> Reply:
            runner = self._runner(wish.task, f"{wish.stamp}-e", limits, sandbox, agent)
            return await runner(next(iter(runner.source.items())), 0)

        try:
            if wish.setting == "own":
                own = partial(trial, sandbox=self.sandbox)
                reply, metered = await through_gateway(script, tuple(wish.environment), settings, own)
            else:
                async with open_gateway_to(server, settings.secrets[0], limits.max_tokens or 1e9) as (
                    url,
                    naive,
                ):
                    agent = ScriptedAgent(script, (*wish.environment, f"OPENAI_BASE_URL={url}"))
                    reply = await trial(agent, self._straw(shown=self.room))
                    log = self.home / "runs" / f"{wish.stamp}-e-0" / "logs/agent.log"
                    metered = MeteredCalls(server.tokens, naive.counted(log), tuple(server.foreign))
        except ProctorError as error:
            return TrialTold(None, f"{type(error).__name__}: {error}")
        record = record_from(reply.raw)
        used = {**asdict(record.agent_used), "tokens": float(metered.tokens)}
        told = {"foreign": metered.foreign, "miscounted": metered.miscounted}
        return TrialTold(record.score, "", None, "", used, asdict(record), told)

    async def _later(self, runner: TrialRunner, wish: ExploitWish) -> float | None:
        if not wish.later:
            return None
        after = replace(runner, agent=NullAgent())
        try:
            return (await self._record(after, 1)).score
        except ProctorError:
            return 1.0  # a verdict that others lose is as bad

    async def _victim(self, wish: ExploitWish, sandbox: Sandbox) -> str:
        if not wish.victim:
            return ""
        agent = ScriptedAgent(Path(wish.victim_script))
        runner = self._runner(wish.victim, f"{wish.stamp}-v", VICTIM_LIMITS, sandbox, agent)
        try:
            record = await self._record(runner, 0)
        except ProctorError as error:
            return f"another trial has no verdict: {error}"
        if (record.score, record.ended) != (1.0, "done"):
            return f"another trial scored {record.score:g} and ended as {record.ended}"
        return ""

    async def _shared(self, wish: ExploitWish) -> TrialTold:
        place = self.home / "runs" / f"{wish.stamp}-e-0"
        place.mkdir(parents=True)
        shown = self.room if wish.setting == "host-collected" else None
        environment = dict(each.split("=", 1) for each in wish.environment)
        job = SharedJob(
            Path(wish.script),
            Path(wish.task),
            Path(wish.repository),
            wish.setting,
            environment,
            wish.limits["agent_s"],
            place,
        )
        try:
            told = await shared_score(self._straw(shown), job, later=wish.later)
        except ProctorError as error:
            return TrialTold(None, str(error))
        return TrialTold(told.score, told.error, told.later, used={"written_bytes": told.written_bytes})

    def _straw(self, shown: Path | None) -> Straw:
        return Straw(make_image("base", self.home), self.home / "boxes", shown)

    def _runner(
        self, task: str, stamp: str, limits: TrialLimits, sandbox: Sandbox, agent: AgentAtWork
    ) -> TrialRunner:
        ref = RolloutsRef(
            "gauntlet", tasks=(TaskEntry(task, 2),), data=str(self.home), stamp=stamp, limits=limits
        )
        return TrialRunner(ref, open_rollouts(ref, self.home), sandbox, agent, Model("agent", "gauntlet"))

    async def _record(self, runner: TrialRunner, rollout: int) -> TrialRecord:
        item = next(iter(runner.source.items()))
        return record_from((await runner(item, rollout)).raw)


async def serve(sandbox: str, room: Path) -> None:
    """Answer requests until there are no more. The first line that is written tells that the sandbox holds here."""
    loop = asyncio.get_running_loop()
    trying = Trying.of(sandbox, room)
    await trying.sandbox.check(Policy(disk_mb=64))
    _say({"ready": trying.sandbox.told})
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        _say(asdict(await trying.tried(ExploitWish(**json.loads(line)))))


def _say(told: Mapping[str, Any]) -> None:
    print(json.dumps(told, default=str), flush=True)
