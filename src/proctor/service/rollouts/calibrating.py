"""What `proctor task check` has done to a task, through the trials of benchmarks: known agents work on it.

nothing      what it scores, the task gives away
reference    what it does not score, nobody can
planted      writes rewards where verifiers have looked for them, and files that test runners load by themselves
early end    has the repository's own code end the process that runs it
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from proctor.engine.agents.contract import AgentAtWork
from proctor.engine.agents.own import NullAgent, ReferenceAgent, ScriptedAgent
from proctor.engine.trials.baseline import Baselines
from proctor.engine.trials.requirements import need_requirements
from proctor.engine.trials.runner import TrialRunner, need_begun
from proctor.errors import AttemptError
from proctor.references import RolloutsRef, TaskEntry
from proctor.sandbox.contract import Policy, Sandbox
from proctor.sandbox.opening import open_sandbox
from proctor.sources.rollouts.source import open_rollouts
from proctor.sources.rollouts.task import PreparedTask
from proctor.trial_record import TrialRecord, record_from
from proctor.types import Item, Model

AT_ONCE = 2
PLANTED = r"""
for place in . /app /app/artifacts /app/evaluation /app/results /app/verifier /logs/verifier /tmp "$HOME"; do
    mkdir -p "$place" 2>/dev/null || continue
    for name in reward results evaluation_results test_results scoring tb_evaluation_results verdict record; do
        echo '{"reward": 1, "score": 1.0, "total_score": 1.0, "passed": true, "success": true, "exit_code": 0}' \
            > "$place/$name.json" 2>/dev/null
        echo 1 > "$place/$name.txt" 2>/dev/null
    done
done
cat > conftest.py <<'PYTHON'
import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    (yield).get_result().outcome = "passed"


def pytest_sessionfinish(session, exitstatus):
    session.exitstatus = 0
PYTHON
printf '[pytest]\naddopts = --collect-only\n' > pytest.ini
for name in sitecustomize usercustomize unittest pytest _pytest; do
    printf 'import os\nos._exit(0)\n' > "$name.py"
done
printf '#!/bin/sh\nexit 0\n' > python3 && chmod +x python3
exit 0
"""
EARLY_END = r"""
find . -name '*.py' -type f | while read -r file; do
    printf 'import os\nos._exit(0)\n' > "$file"
done
"""


@dataclass(frozen=True, slots=True)
class AgentShown:
    """What an agent scored on a task, rollout by rollout; `failed` are errors that measured nothing, in words."""

    records: Sequence[TrialRecord] = ()
    failed: Sequence[str] = ()

    @property
    def best(self) -> float:
        return max((record.score for record in self.records), default=0.0)

    @property
    def worst(self) -> float:
        return min((record.score for record in self.records), default=0.0)

    @property
    def flaky(self) -> Mapping[str, tuple[int, int]]:
        """Test scripts that did not always say the same: how often they passed, of how many."""
        found: dict[str, list[bool]] = {}
        for record in self.records:
            for path, result in record.tests.items():
                found.setdefault(path, []).append(result.passed)
        return {path: (sum(each), len(each)) for path, each in found.items() if len(set(each)) > 1}


@dataclass(frozen=True, slots=True)
class Calibration:
    """A prepared folder in a sandbox, ready for agents that are known. Its trials leave nothing behind."""

    folder: Path
    overrides: Path | None
    sandbox: Sandbox
    ref: RolloutsRef
    home: Path
    room: Path
    baselines: Baselines = field(default_factory=Baselines)
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def need_requirements(self, task: PreparedTask) -> Sequence[str]:
        """What is there in another version than the task asks for, in sentences. Raises: SandboxMissing."""
        remarks = await need_requirements(self.sandbox, Policy(), [task])
        runner, item = self._runner("files", NullAgent(), 1)
        await need_begun(runner.trial(*runner.source.by_id[item.id], 0))
        return remarks

    async def nothing(self, rollouts: int) -> AgentShown:
        return await self._shown("null", NullAgent(), rollouts)

    async def reference(self, rollouts: int) -> AgentShown:
        return await self._shown("reference", ReferenceAgent(), rollouts)

    async def planted(self) -> AgentShown:
        return await self._shown("planted", self._script("planted", PLANTED), 1)

    async def early_end(self) -> AgentShown:
        return await self._shown("early", self._script("early", EARLY_END), 1)

    def _script(self, name: str, text: str) -> ScriptedAgent:
        place = self.room / f"{name}.sh"
        place.write_text(text)
        return ScriptedAgent(place)

    def _runner(self, name: str, agent: AgentAtWork, rollouts: int) -> tuple[TrialRunner, Item]:
        entry = TaskEntry(str(self.folder), rollouts, None if self.overrides is None else str(self.overrides))
        ref = replace(self.ref, tasks=(entry,), stamp=name)
        source = open_rollouts(ref, self.home)
        model = Model("agent", name)
        runner = TrialRunner(ref, source, self.sandbox, agent, model, baselines=self.baselines)
        return runner, next(iter(source.items()))

    async def _shown(self, name: str, agent: AgentAtWork, rollouts: int) -> AgentShown:
        runner, item = self._runner(name, agent, rollouts)

        async def one(rollout: int) -> TrialRecord:
            async with self.slots:
                return record_from((await runner(item, rollout)).raw)

        ended = await asyncio.gather(*(one(rollout) for rollout in range(rollouts)), return_exceptions=True)
        return AgentShown(
            [each for each in ended if isinstance(each, TrialRecord)],
            [_told(each) for each in ended if isinstance(each, BaseException)],
        )


@asynccontextmanager
async def calibration(
    folder: Path, overrides: Path | None, home: Path, *, sandbox: str, image: str
) -> AsyncIterator[Calibration]:
    """Raises: SandboxMissing, ConfigError."""
    (home / "cache").mkdir(parents=True, exist_ok=True)
    room = Path(tempfile.mkdtemp(prefix="check-", dir=home / "cache"))
    try:
        ref = RolloutsRef("check", data=str(room), sandbox=sandbox, image=image)
        box = open_sandbox(ref, home)
        await box.check(Policy())
        yield Calibration(folder, overrides, box, ref, home, room)
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _told(error: BaseException) -> str:
    if isinstance(error, AttemptError):
        return str(error)
    raise error
