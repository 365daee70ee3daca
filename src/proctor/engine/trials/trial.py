"""One trial: prepare, agent, collect, verify, score. The agent's box is dead before anything of it is read.

What is finished is kept in the trial's folder: a trial whose work is collected goes on at verifying, and its agent is
never asked again.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from proctor.engine.agents.contract import AgentAtWork, AgentJob, AgentWork
from proctor.engine.trials.baseline import Baselines, TaskBaseline
from proctor.engine.trials.boxes import furnish, in_time, opened_box, repository_of
from proctor.engine.trials.clean import clean_files
from proctor.engine.trials.collecting import Collected, Taken, collect, collected_bytes, collected_from
from proctor.engine.trials.deadlines import COLLECT_S, GRACE_S, PREPARE_S, Deadlines
from proctor.engine.trials.documents import notes_document, repo_info_document
from proctor.engine.trials.folder import AGENT_LOG, EVAL_LOG, PATCH, RECORD, WORK, TrialFolder, worked_on
from proctor.engine.trials.scoring import bound_of, reply_of, write_results
from proctor.engine.trials.verifying import PatchVerdict, Verifying, VerifyTerms
from proctor.errors import ProctorError
from proctor.references import RolloutsRef, TaskEntry, TrialLimits
from proctor.sandbox.contract import REPO, Box, Policy, Sandbox
from proctor.sources.rollouts.task import PreparedTask
from proctor.trial_record import Consumed, PhaseName, PhaseTime, record_from
from proctor.types import Reply


@dataclass(slots=True)
class Trial:
    """One rollout of one task on its way; `place` is its folder in `data/runs`, `row` whom it measures."""

    ref: RolloutsRef
    task: PreparedTask
    entry: TaskEntry
    rollout: int
    place: Path
    sandbox: Sandbox
    agent: AgentAtWork
    baselines: Baselines
    row: str = ""
    phases: list[PhaseTime] = field(default_factory=list)

    async def run(self) -> Reply:
        """Raises: SandboxError, VerifierError, AgentModelError; DiskFull, which ends the run."""
        with worked_on(self.place) as folder:
            try:
                return await self._run(folder)
            except ProctorError as error:
                folder.failed(error)
                raise

    async def _run(self, folder: TrialFolder) -> Reply:
        bound = bound_of(self)
        kept = _kept(folder, bound)
        if kept is None:
            folder.begin(bound)
            collected, patch = await self._work(folder)
        else:
            collected, patch = kept
            record = folder.read(RECORD) if folder.state.phase is None else None
            if record is not None:
                return reply_of(record_from(record), collected.work, patch)
        self.phases = list(collected.phases)
        verdict = await self._verify(folder, collected, patch)
        with self._phase(folder, "score"):
            reply = write_results(self, folder, collected, patch, verdict)
            folder.finish("score")
        folder.end()
        return reply

    async def _work(self, folder: TrialFolder) -> tuple[Collected, bytes]:
        async with opened_box(self.sandbox, self.policy, self.agent.mounts, self.task.build) as box:
            with self._phase(folder, "prepare"):
                baseline = await in_time(PREPARE_S, "prepare a trial", self._prepare(box))
                folder.finish("prepare")
            with self._phase(folder, "agent"):
                work = await self._ask(folder, box)
                folder.finish("agent")
            with self._phase(folder, "collect"):
                taken = await in_time(COLLECT_S, "collect the work", self._collect(folder, box, baseline))
                used = box.consumed()
        collected = self._collected(work, taken, used)
        _write_work(folder, self.task, collected, taken.patch)
        return collected, taken.patch

    async def _prepare(self, box: Box) -> TaskBaseline:
        baseline = await self._baseline()
        await box.put(baseline.files, REPO)
        await box.put(baseline.history, f"{REPO}/.git")
        await furnish(box, self.task.agent_files())
        return baseline

    async def _ask(self, folder: TrialFolder, box: Box) -> AgentWork:
        left_s = self.deadlines.of_agent(self._spent_s)
        job = AgentJob(
            box,
            self.task.instruction,
            self.environment,
            self.limits,
            min(self.deadlines.agent_s, left_s),
            folder.path / AGENT_LOG,
            self.task.reference,
            self.rollout,
            self.task.id,
            left_s,
        )
        job.log.touch()
        try:
            async with asyncio.timeout(left_s + GRACE_S):
                return await self.agent.work(job)
        except TimeoutError:
            told = f"stopped from outside: the whole trial may take {self.deadlines.trial_s:g} s"
            return AgentWork("limit", limits_met=(told,))

    async def _collect(self, folder: TrialFolder, box: Box, baseline: TaskBaseline) -> Taken:
        root = await repository_of(box)
        until = time.monotonic() + COLLECT_S
        return await asyncio.to_thread(collect, root, baseline, folder.private, until)

    def _collected(self, work: AgentWork, taken: Taken, used: Consumed) -> Collected:
        limits = (*work.limits_met, *taken.limits_met, *_limits_of_box(used, self.policy))
        ended = "limit" if taken.void else work.ended
        work = replace(work, ended=ended, limits_met=limits)
        notes = (*work.notes, *taken.notes)
        return Collected(
            work, taken.tree, taken.touched, notes, used, tuple(self.phases), self.deadlines.told
        )

    async def _verify(self, folder: TrialFolder, collected: Collected, patch: bytes) -> PatchVerdict:
        with self._phase(folder, "verify"):
            folder.verifies()
            baseline = await self._baseline()
            work = await asyncio.to_thread(
                clean_files, self.task, baseline, patch, folder.private, collected.tree
            )
            seconds = self.deadlines.of_verifier(self._spent_s)
            log = folder.path / EVAL_LOG
            terms = VerifyTerms(self.sandbox, self.policy, self.environment, seconds, log)
            verdict = await Verifying(self.task, work.folder, terms).verdict()
            folder.finish("verify")
        return replace(verdict, notes=(*work.notes, *verdict.notes))

    async def _baseline(self) -> TaskBaseline:
        return await self.baselines.of(self.task, Path(self.ref.data, "cache", "baselines"))

    @property
    def deadlines(self) -> Deadlines:
        return Deadlines.of(self.limits, self.task)

    @property
    def limits(self) -> TrialLimits:
        """The benchmark's, with what the task and its entry say of their own."""
        entry = replace(self.entry, timeout_s=self.entry.timeout_s or self.task.timeout_s)
        return entry.within(self.ref.limits)

    @property
    def policy(self) -> Policy:
        limits = self.limits
        return Policy(limits.memory_mb, limits.cpus, limits.pids, limits.disk_mb)

    @property
    def environment(self) -> Mapping[str, str]:
        own = dict(each.split("=", 1) for each in self.entry.environment)
        return {**self.task.environment, **own}

    @property
    def _spent_s(self) -> float:
        return sum(each.seconds for each in self.phases)

    @contextmanager
    def _phase(self, folder: TrialFolder, name: PhaseName) -> Iterator[None]:
        folder.enter(name)
        at, began = time.time(), time.monotonic()
        yield
        self.phases.append(PhaseTime(name, at, time.monotonic() - began))


def _kept(folder: TrialFolder, bound: str) -> tuple[Collected, bytes] | None:
    """What an agent made of this very task, where it is whole; else it is asked once more."""
    if not folder.keeps(bound):
        return None
    patch, body = folder.read(PATCH), folder.read(WORK)
    collected = collected_from(body) if body is not None else None
    if patch is None or collected is None or hashlib.sha256(patch).hexdigest() != folder.state.patch:
        return None
    return collected, patch


def _write_work(folder: TrialFolder, task: PreparedTask, collected: Collected, patch: bytes) -> None:
    digest = hashlib.sha256(patch).hexdigest()
    work = collected.work
    folder.write(PATCH, patch, lasting=True)
    folder.write(WORK, collected_bytes(collected), lasting=True)
    folder.write("artifacts/repo_info.json", repo_info_document(task, collected.touched, digest))
    folder.write("artifacts/notes.md", notes_document(work.final, collected.notes, work.limits_met))
    folder.finish("collect", patch=digest)


def _limits_of_box(used: Consumed, policy: Policy) -> Iterator[str]:
    if used.out_of_memory:
        yield f"{used.out_of_memory} processes were killed at {policy.memory_mb} MB of memory"
    if used.processes_refused:
        yield f"{used.processes_refused} times no process could be started: {policy.pids} may run at once"


def folder_of(ref: RolloutsRef, number: int) -> Path:
    """The place of a trial by its number: data/runs/STAMP-NUMBER."""
    return Path(ref.data, "runs", f"{ref.stamp}-{number}")
