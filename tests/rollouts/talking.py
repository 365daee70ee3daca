"""Agents at work in real boxes: small servers play the model over HTTP, and a task is a folder with a file or two."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from odd_servers import said
from proctor.engine.agents.contract import AgentAtWork, AgentJob, AgentWork
from proctor.engine.agents.opening import open_agent
from proctor.plan.agents import AGENT_SAMPLING, agent_of, sampling_of
from proctor.providers.contract import Opening
from proctor.providers.prices import read_prices
from proctor.providers.wire.http import Http
from proctor.references import Agent, RolloutsRef, TrialLimits
from proctor.sandbox.contract import REPO, Policy, Sandbox
from proctor.types import Cell, Limits, Model
from simulators import settings

LISTED = {"/v1/models": (200, {"object": "list", "data": [{"id": "m", "object": "model"}]})}


def usage(reply: Mapping[str, Any], sent: int, received: int) -> dict[str, Any]:
    """The reply with other token counts."""
    return {**reply, "usage": {"prompt_tokens": sent, "completion_tokens": received}}


def block(command: str, before: str = "I do it.") -> str:
    return f"{before}\n\n```sh\n{command}\n```\n"


def playing(*replies: str) -> Callable[[Mapping[str, Any]], Any]:
    """A model that gives these replies in their order, told by how many it has given in this conversation."""

    def answer(request: Mapping[str, Any]) -> Any:
        given = sum(message["role"] == "assistant" for message in request["messages"])
        return said(replies[min(given, len(replies) - 1)], request["model"])

    return answer


def last(request: Mapping[str, Any]) -> str:
    """What the model was told last."""
    return str(request["messages"][-1]["content"])


@dataclass
class Desk:
    """Where agents work in a test: a box of their own for each job, on a task of one file."""

    sandbox: Sandbox
    home: Path
    files: Mapping[str, str] = field(default_factory=lambda: {"sum.py": "print(1 + 1)\n"})
    left: dict[str, str] = field(default_factory=dict)  # what the last one left in the repository
    seconds: float = 30.0
    wait_for_server_s: float = 5.0

    def shell(self, url: str, **table: Any) -> AgentWork:
        """The work of the shell agent that asks the server at `url`."""
        limits = table.pop("limits", TrialLimits())
        table = {"kind": "shell", "base_url": url, **table}
        return self.work(agent_of("shell", {"shell": table}, "openai/m", "tests"), limits, table)

    def work(
        self, agent: Agent, limits: TrialLimits | None = None, table: Mapping[str, Any] | None = None
    ) -> AgentWork:
        return self.works(agent, 1, limits or TrialLimits(), table)[0]

    def works(
        self, agent: Agent, trials: int, limits: TrialLimits, table: Mapping[str, Any] | None = None
    ) -> list[AgentWork]:
        """Several trials of one agent at once."""

        async def work() -> list[AgentWork]:
            async with self.opened(agent, table) as ready:
                await ready.check()
                return await asyncio.gather(
                    *(self.trial(ready, limits, rollout) for rollout in range(trials))
                )

        return asyncio.run(work())

    @asynccontextmanager
    async def opened(
        self, agent: Agent, table: Mapping[str, Any] | None = None
    ) -> AsyncIterator[AgentAtWork]:
        known = settings(self.home, OPENAI_API_KEY="sk-tests-0123456789")
        http = Http(parallel=16, timeout_s=20.0, secrets=known.secrets)
        sampling = AGENT_SAMPLING if table is None else sampling_of(agent.name, {agent.name: table}, "tests")
        limits = Limits(wait_for_server_s=self.wait_for_server_s)
        cell = Cell(Model("agent", agent.name), RolloutsRef("tests"), sampling, limits, agent=agent)
        try:
            yield open_agent(agent, cell, Opening(known, http, read_prices(self.home)))
        finally:
            await http.close()

    async def trial(self, ready: AgentAtWork, limits: TrialLimits, rollout: int) -> AgentWork:
        task = self.home / f"task-{rollout}"
        task.mkdir(parents=True, exist_ok=True)
        for name, text in self.files.items():
            (task / name).write_text(text)
        log = self.home / f"agent-{rollout}.log"
        box = await self.sandbox.open(Policy(disk_mb=64), ready.mounts)
        try:
            await box.put(task, REPO)
            job = AgentJob(box, "Mend it.", {"LANG": "C"}, limits, self.seconds, log, None, rollout, "mend/1")
            work = await ready.work(job)
            repo = await box.files(REPO)
            self.left = {path.name: path.read_text() for path in repo.iterdir() if path.is_file()}
            return work
        finally:
            await box.close()

    def log(self, rollout: int = 0) -> str:
        return (self.home / f"agent-{rollout}.log").read_text()


def ran(work: AgentWork) -> Sequence[str]:
    return [step.ran for step in work.steps]


def shell_at(url: str) -> Agent:
    return agent_of("shell", {"shell": {"base_url": url}}, "openai/m", "tests")
