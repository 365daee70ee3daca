"""One trial: prepare, agent, collect, verify, score. The agent's box is dead before anything of it is read."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from proctor.engine.agents.contract import AgentAtWork, AgentJob, AgentWork
from proctor.errors import VerifierError
from proctor.references import RolloutsRef, TaskEntry
from proctor.sandbox.contract import REPO, Command, Mount, Policy, Sandbox
from proctor.sources.rollouts.task import PreparedTask
from proctor.trial_record import (
    OUTPUT_CHARACTERS,
    PhaseName,
    PhaseTime,
    RubricScore,
    TestResult,
    TrialRecord,
    record_bytes,
)
from proctor.types import Reply

EVALUATION = "/app/evaluation"
GIT = ("git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
GIT_ENV = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{what}": "proctor" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


@dataclass(slots=True)
class Trial:
    """One rollout of one task on its way; `folder` is its place in `data/runs`."""

    ref: RolloutsRef
    task: PreparedTask
    entry: TaskEntry
    rollout: int
    folder: Path
    sandbox: Sandbox
    agent: AgentAtWork
    phases: list[PhaseTime] = field(default_factory=list)

    async def run(self) -> Reply:
        """Raises: SandboxError, VerifierError, AgentModelError."""
        for name in ("artifacts", "logs"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        work, patch = await self._work()
        tests = await self._verify(patch)
        with self._phase("score"):
            record = self._record(work, patch, tests)
        (self.folder / "evaluation_results.json").write_text(
            json.dumps({"run_id": record.run_id, "total_score": record.score}, indent=2)
        )
        return Reply(
            patch.decode("utf-8", "replace"),
            latency_s=time.monotonic() - began,
            input_tokens=work.usage.input_tokens,
            output_tokens=work.usage.output_tokens,
            cost_usd=work.usage.cost_usd,
            unused=work.unused,
            raw=record_bytes(record),
        )

    async def _work(self) -> tuple[AgentWork, bytes]:
        limits = self.ref.limits
        with self._phase("prepare"):
            box = await self.sandbox.open(self._policy, self.agent.mounts)
        try:
            with self._phase("prepare"):
                await box.put(self.task.repo, REPO)
                await asyncio.to_thread(self._baseline)
            with self._phase("agent"):
                job = AgentJob(
                    box,
                    self.task.instruction,
                    self._environment,
                    limits,
                    self.entry.timeout_s or limits.agent_s,
                    self.folder / "logs" / "agent.log",
                    self.task.reference,
                    self.rollout,
                    self.task.id,
                )
                work = await self.agent.work(job)
            with self._phase("collect"):
                patch = await asyncio.to_thread(self._diff, await box.files(REPO))
        finally:
            await box.close()
        (self.folder / "artifacts" / "diff.patch").write_bytes(patch)
        return work, patch

    async def _verify(self, patch: bytes) -> Mapping[str, TestResult]:
        with self._phase("verify"):
            box = await self.sandbox.open(self._policy, [Mount(self.task.evaluation, EVALUATION)])
            try:
                await box.put(self.task.repo, REPO)
                if patch:
                    applied = await box.run(
                        Command(("git", "apply", "--whitespace=nowarn", "-"), stdin=patch)
                    )
                    if applied.code:
                        raise VerifierError(f"The patch does not apply: {applied.said.decode()}")
                return {script.path: await self._test(box, script.path) for script in self.task.tests}
            finally:
                await box.close()

    async def _test(self, box: object, path: str) -> TestResult:
        runner = ("sh",) if path.endswith(".sh") else ("python3",)
        command = Command(
            (*runner, f"{EVALUATION}/{path}"),
            self._environment,
            timeout_s=self.ref.limits.verifier_s,
            output=self.folder / "logs" / "eval.log",
        )
        ended = await box.run(command)  # type: ignore[attr-defined]  # a first cut
        return TestResult(ended.code == 0, ended.said.decode("utf-8", "replace")[-OUTPUT_CHARACTERS:])

    def _record(self, work: AgentWork, patch: bytes, tests: Mapping[str, TestResult]) -> TrialRecord:
        rubrics: dict[str, RubricScore] = {}
        for each in self.task.rubrics:
            of = [tests[script.path].passed for script in self.task.tests if script.rubric == each.id]
            share = sum(of) / len(of) if of else None
            rubrics[each.id] = RubricScore(each.criterion, each.weight, share, len(of), sum(of))
        counted = [each for each in rubrics.values() if each.score is not None]
        whole = sum(each.weight for each in counted)
        score = sum(each.weight * (each.score or 0.0) for each in counted) / whole if whole else 0.0
        return TrialRecord(
            self.folder.name,
            str(self.folder),
            work.ended,
            score,
            score >= self.ref.pass_score,
            work.exit_code,
            work.limits_met,
            tuple(self.phases),
            work.steps,
            calls=work.calls,
            rubrics=rubrics,
            tests=tests,
            diff_lines=patch.count(b"\n"),
            sandbox=self.sandbox.told,
            hashes={"task": self.task.sha256, "agent": self.agent.sha256},
        )

    @property
    def _policy(self) -> Policy:
        limits = self.ref.limits
        return Policy(limits.memory_mb, limits.cpus, limits.pids, limits.disk_mb)

    @property
    def _environment(self) -> Mapping[str, str]:
        own = dict(each.split("=", 1) for each in self.entry.environment)
        return {**self.task.environment, **own}

    @contextmanager
    def _phase(self, name: PhaseName) -> Iterator[None]:
        at, began = time.time(), time.monotonic()
        yield
        self.phases.append(PhaseTime(name, at, time.monotonic() - began))

    def _baseline(self) -> None:
        """A private history of the repository as the agent found it, out of the agent's reach."""
        self._git("init", "-q", str(self.folder / "baseline"), tree=None)
        self._git("add", "-A", tree=self.task.repo)
        self._git("commit", "-q", "--allow-empty", "-m", "baseline", tree=self.task.repo)

    def _diff(self, tree: Path) -> bytes:
        self._git("add", "-A", tree=tree)
        return self._git("diff", "--cached", "--binary", "HEAD", tree=tree)

    def _git(self, *words: str, tree: Path | None) -> bytes:
        where = () if tree is None else (f"--git-dir={self.folder / 'baseline/.git'}", f"--work-tree={tree}")
        done = subprocess.run(
            [*GIT, *where, *words], env={**GIT_ENV}, cwd=tree or self.folder, capture_output=True, check=False
        )
        if done.returncode:
            raise VerifierError(f"git {words[0]}: {done.stderr.decode('utf-8', 'replace')}")
        return done.stdout


def folder_of(ref: RolloutsRef, number: int) -> Path:
    """The place of a trial by its number: data/runs/STAMP-NUMBER."""
    return Path(ref.data, "runs", f"{ref.stamp}-{number}")
