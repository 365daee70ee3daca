"""A small task, and trials on it by scripted agents, for tests: the real runner, sandbox and verifier."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from proctor.engine.agents.contract import AgentAtWork
from proctor.engine.agents.own import NullAgent, ScriptedAgent
from proctor.engine.trials.folder import read_state
from proctor.engine.trials.runner import TrialRunner
from proctor.references import RolloutsRef, TaskEntry, TrialLimits
from proctor.sandbox.contract import Sandbox
from proctor.sources.rollouts.source import open_rollouts
from proctor.trial_record import TrialRecord, record_from
from proctor.types import Model, Reply

LIMITS = TrialLimits(agent_s=20, verifier_s=20, memory_mb=256, pids=64, disk_mb=64)
MENDED = "def double(number):\n    return 2 * number\n"
BROKEN = "def double(number):\n    return number\n"
IMPORTING = "from figures import double\nassert double(4) == 8, double(4)\n"
MEND = f"cat > figures.py <<'END'\n{MENDED}END\n"
STAMP = "20261122__12-00-00"


def task_folder(
    place: Path,
    *,
    repository: Mapping[str, str | bytes] | None = None,
    tests: Mapping[str, str] | None = None,
    told: Mapping[str, object] | None = None,
) -> Path:
    """A prepared task: double a number. Each test is a rubric of weight 1."""
    tests = tests or {"test_double.py": IMPORTING}
    files: dict[str, str | bytes] = {f"evaluation/{name}": body for name, body in tests.items()}
    repository = {"figures.py": BROKEN, **(repository or {})}
    files |= {f"overlay_repo_files/{name}": body for name, body in repository.items()}
    meta = {
        "task_id": "double",
        "metadata": {"title": "Double"},
        "lm": {"instructions": "Make double() double."},
        "evaluation": {
            "rubrics": [{"id": name, "criterion": name, "weight": 1.0} for name in tests],
            "test_scripts": [{"path": name, "rubric_id": name} for name in tests],
        },
    }
    files["tb_meta.json"] = json.dumps({**meta, **(told or {})})
    files["Dockerfile"] = "FROM scratch\n"
    for name, body in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body.encode() if isinstance(body, str) else body)
    return place


@dataclass
class Benchmark:
    """One task on a sandbox; each `tried` is a trial of its own, whose folder is `place`."""

    home: Path
    sandbox: Sandbox
    folder: Path
    ref: RolloutsRef

    @classmethod
    def of(cls, home: Path, sandbox: Sandbox, folder: Path, limits: TrialLimits = LIMITS) -> Benchmark:
        ref = RolloutsRef(
            "tests", tasks=(TaskEntry(str(folder), 9),), data=str(home), stamp=STAMP, limits=limits
        )
        return cls(home, sandbox, folder, ref)

    def place(self, rollout: int = 0) -> Path:
        return self.home / "runs" / f"{STAMP}-{rollout}"

    def runner(self, agent: AgentAtWork) -> TrialRunner:
        return TrialRunner(
            self.ref, open_rollouts(self.ref, self.home), self.sandbox, agent, Model("agent", "t")
        )

    def asked(self, agent: AgentAtWork, rollout: int = 0) -> Reply:
        """One trial. Raises what it raises."""
        runner = self.runner(agent)
        item = next(iter(runner.source.items()))

        async def ran() -> Reply:
            return await runner(item, rollout)

        return asyncio.run(ran())

    def scripted(self, script: str) -> ScriptedAgent:
        path = self.home / "agent.sh"
        path.write_text(script)
        return ScriptedAgent(path)

    def tried(self, script: str, rollout: int = 0) -> TrialRecord:
        return record_from(self.asked(self.scripted(script), rollout).raw)

    def idle(self, rollout: int = 0) -> TrialRecord:
        return record_from(self.asked(NullAgent(), rollout).raw)

    def limited(self, **limits: float) -> Benchmark:
        return replace(self, ref=replace(self.ref, limits=replace(self.ref.limits, **limits)))

    def state(self, rollout: int = 0) -> Mapping[str, object]:
        told: Mapping[str, object] = json.loads((self.place(rollout) / "state.json").read_text())
        return told

    def phase(self, rollout: int = 0) -> str | None:
        """The phase that a trial is in; None before it begins and after its end."""
        state = read_state(self.place(rollout))
        return None if state is None else state.phase
