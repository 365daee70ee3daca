"""Agents at work in real boxes: small servers play the model over HTTP, and a task is a folder with a file or two."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from odd_servers import said
from proctor.engine.agents.contract import AgentAtWork, AgentJob, AgentWork
from proctor.engine.agents.opening import open_agent
from proctor.plan.agents import AGENT_SAMPLING, AgentTables
from proctor.plan.table import TableFaults, TableReader
from proctor.providers import PROVIDERS
from proctor.providers.contract import Opening
from proctor.providers.prices import read_prices
from proctor.providers.wire.http import Http
from proctor.references import Agent, RolloutsRef, TaskEntry, TrialLimits
from proctor.sandbox.contract import REPO, Policy, Sandbox
from proctor.types import Cell, Limits, Model, Plan, Sampling
from simulators import settings

LISTED = {"/v1/models": (200, {"object": "list", "data": [{"id": "m", "object": "model"}]})}


def usage(reply: Mapping[str, Any], sent: int, received: int) -> dict[str, Any]:
    """The reply with other token counts."""
    return {**reply, "usage": {"prompt_tokens": sent, "completion_tokens": received}}


def described(name: str, tables: Mapping[str, Any], model: str | None = None) -> tuple[Agent, Sampling]:
    """An agent and how its model is drawn from, as a benchmark's file tells them. Raises: ConfigError."""
    faults = TableFaults("tests")
    found = AgentTables(tables, tuple(PROVIDERS)).named(name, model, TableReader({}, faults, "[[tasks]] 1"))
    faults.complain()
    assert found is not None
    return found


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
    environ: Mapping[str, str] = field(default_factory=lambda: {"OPENAI_API_KEY": "sk-tests-0123456789"})

    def shell(self, url: str, **table: Any) -> AgentWork:
        """The work of the shell agent that asks the server at `url`."""
        limits = table.pop("limits", TrialLimits())
        agent, sampling = described("shell", {"shell": {"base_url": url, **table}}, "openai/m")
        return self.works(agent, 1, limits, sampling)[0]

    def work(self, agent: Agent, limits: TrialLimits | None = None) -> AgentWork:
        return self.works(agent, 1, limits or TrialLimits())[0]

    def works(
        self, agent: Agent, trials: int, limits: TrialLimits, sampling: Sampling = AGENT_SAMPLING
    ) -> list[AgentWork]:
        """Several trials of one agent at once."""

        async def work() -> list[AgentWork]:
            async with self.opened(agent, sampling) as ready:
                await ready.check()
                return await asyncio.gather(
                    *(self.trial(ready, limits, rollout) for rollout in range(trials))
                )

        return asyncio.run(work())

    @asynccontextmanager
    async def opened(self, agent: Agent, sampling: Sampling = AGENT_SAMPLING) -> AsyncIterator[AgentAtWork]:
        known = settings(self.home, **self.environ)
        http = Http(parallel=16, timeout_s=20.0, secrets=known.secrets)
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
    return described("shell", {"shell": {"base_url": url}}, "openai/m")[0]


MEND = "sed -i 's/1 + 1/2 + 2/' sum.py"
META = {
    "task_id": "mend-the-sum",
    "lm": {"instructions": "sum.py is to add two and two."},
    "evaluation": {
        "rubrics": [{"id": "right", "criterion": "It adds two and two.", "weight": 1.0}],
        "test_scripts": [{"path": "sum.sh", "rubric_id": "right"}],
    },
}


def task_in(folder: Path) -> Path:
    """A prepared task whose one test takes no time."""
    files = {
        "tb_meta.json": json.dumps(META),
        "Dockerfile": "FROM proctor-base\n",
        "overlay_repo_files/sum.py": "print(1 + 1)\n",
        "evaluation/sum.sh": 'grep -q "2 + 2" /app/repo/sum.py\n',
    }
    for name, text in files.items():
        path = folder / "mend-the-sum" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "mend-the-sum"


def benchmark(
    home: Path,
    agent: Agent,
    *,
    rollouts: int,
    limits: TrialLimits | None = None,
    token_limit: int | None = None,
) -> Plan:
    """One task, worked on by one agent."""
    folder = task_in(home)
    ref = RolloutsRef(
        "tests",
        tasks=(TaskEntry(str(folder), rollouts, token_limit=token_limit),),
        data=str(home),
        stamp="20260101__00-00-00",
        limits=limits or TrialLimits(),
    )
    model = Model(agent.name, agent.model) if agent.model else Model("agent", agent.name)
    asking = Limits(parallel=2, wait_for_server_s=0.0)
    cell = Cell(model, ref, AGENT_SAMPLING, asking, repeats=rollouts, agent=agent)
    return Plan((cell,), name="tests")
