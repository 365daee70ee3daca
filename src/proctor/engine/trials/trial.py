"""One trial: prepare, agent, collect, verify, score. The agent's box is dead before anything of it is read.

What is finished is kept in the trial's folder: a trial whose work is collected goes on at verifying, and its agent is
never asked again.
"""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from proctor.engine.agents.contract import AgentAtWork, AgentJob, AgentWork
from proctor.engine.trials.baseline import Baselines, TaskBaseline
from proctor.engine.trials.boxes import (
    GIT,
    KEPT_GIT,
    furnish,
    in_time,
    left_in,
    named_otherwise,
    opened_box,
    put_files,
)
from proctor.engine.trials.clean import clean_files
from proctor.engine.trials.collecting import Collected, Taken, collect, collected_bytes, collected_from
from proctor.engine.trials.deadlines import COLLECT_S, GRACE_S, PREPARE_S, Deadlines
from proctor.engine.trials.documents import notes_document, repo_info_document
from proctor.engine.trials.folder import (
    AGENT_LOG,
    CALLS_LOG,
    EVAL_LOG,
    PATCH,
    RECORD,
    WORK,
    TrialFolder,
    worked_on,
)
from proctor.engine.trials.others.reward import MAIN, Reward
from proctor.engine.trials.others.series import joined, parted
from proctor.engine.trials.others.stages import (
    StageHands,
    StageWork,
    whole_taken,
    whole_work,
    worked_through,
)
from proctor.engine.trials.others.stand_ins import shown, with_stand_ins
from proctor.engine.trials.scoring import bound_of, reply_of, write_results
from proctor.engine.trials.verifying import PatchVerdict, Verifying, VerifyTerms
from proctor.errors import ProctorError
from proctor.references import RolloutsRef, TaskEntry, TrialLimits
from proctor.sandbox.contract import REPO, Box, Mount, Policy, Sandbox
from proctor.sources.rollouts.place import Stage
from proctor.sources.rollouts.task import PreparedTask
from proctor.trial_record import Consumed, PhaseName, PhaseTime, record_from
from proctor.types import Reply

NO_STAGE = Stage("", "", (), "")  # of a task without steps


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
    _began: float = 0.0  # monotonic: when the first step of a task in steps was begun

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
        baseline = await self._baseline()
        policy = baseline.policy(self.task, self.policy)
        async with opened_box(self.sandbox, policy, self._mounts(baseline), self._image) as box:
            with self._phase(folder, "prepare"):
                await in_time(PREPARE_S, "prepare a trial", self._prepare(box, baseline))
                folder.finish("prepare")
            with self._phase(folder, "agent"):
                done, before = await self._asked(folder, box, baseline)
                folder.finish("agent")
            with self._phase(folder, "collect"):
                taken = await self._take(folder, box, before, len(done))
                used = box.consumed()
        taken = whole_taken(done, taken) if self.task.stages else taken
        collected = self._collected(whole_work(done), taken, used)
        _write_work(folder, self.task, collected, taken.patch)
        return collected, taken.patch

    @property
    def _image(self) -> Path | None:
        """What an image may be built of."""
        return self.task.build if self.task.place.whole else None

    def _mounts(self, baseline: TaskBaseline) -> Sequence[Mount]:
        """What the agent's box shows: its program, and for the scripts of a task of others what stands in."""
        own = () if self.task.place.whole else shown(baseline.tools, None)
        return (*self.agent.mounts, *own)

    async def _prepare(self, box: Box, baseline: TaskBaseline) -> None:
        await put_files(box, self.task.place, baseline.files, baseline.system)
        if self.task.place.whole:
            await box.put(baseline.history, f"{REPO}/.git")
        await furnish(box, self.task.agent_files())

    async def _asked(
        self, folder: TrialFolder, box: Box, baseline: TaskBaseline
    ) -> tuple[Sequence[StageWork], TaskBaseline]:
        """The agent's work, step by step where the task has steps."""
        if not self.task.stages:
            return [StageWork(NO_STAGE, await self._ask(folder, box, NO_STAGE, 0))], baseline
        hands = StageHands(
            lambda stage, number: self._ask(folder, box, stage, number),
            lambda before, number: self._take(folder, box, before, number),
            lambda done: self._rewarded(folder, baseline, done),
        )
        self._began = time.monotonic()
        return await worked_through(self.task, box, baseline, hands, folder.private)

    async def _rewarded(
        self, folder: TrialFolder, baseline: TaskBaseline, done: Sequence[StageWork]
    ) -> Reward:
        """What the last step gives, as the work on it stands."""
        private = folder.private / f"looked-at-{len(done)}"
        taken = [(each.stage.name, each.taken.patch) for each in done if each.taken is not None]
        work = await asyncio.to_thread(clean_files, self.task, baseline, joined(taken), private)
        script = self.task.tests[len(done) - 1]
        seconds = self.deadlines.of_verifier(self._spent_s)
        terms = self._terms(baseline, seconds, folder.path / EVAL_LOG)
        verifying = Verifying(self.task, work.folder, terms)
        await verifying.one(script, seconds)
        return Reward(
            {
                key.removeprefix(f"{done[-1].stage.name}."): value
                for key, value in verifying.metrics.found.items()
            }
            or {MAIN: 0.0}
        )

    async def _ask(self, folder: TrialFolder, box: Box, stage: Stage, number: int) -> AgentWork:
        left_s = self.deadlines.of_agent(self._spent_s + self._stages_s)
        solution = None if stage.solution is None else self.task.folder / stage.solution
        job = AgentJob(
            box,
            stage.instruction or self.task.instruction,
            self._of_agent,
            self.limits,
            min(self._agent_s(stage), left_s),
            folder.path / (AGENT_LOG if not number else AGENT_LOG.replace(".log", f"-{number + 1}.log")),
            self.task.reference,
            self.rollout,
            self.task.id,
            left_s,
            folder.path / CALLS_LOG,
            self.task.place.cwd,
            solution,
            with_stand_ins({**self.environment, **stage.solution_env}) if solution else {},
        )
        job.log.touch()
        try:
            async with asyncio.timeout(left_s + GRACE_S):
                return await self.agent.work(job)
        except TimeoutError:
            told = f"stopped from outside: the whole trial may take {self.deadlines.trial_s:g} s"
            return AgentWork("limit", limits_met=(told,))

    @property
    def _of_agent(self) -> Mapping[str, str]:
        """The task's variables but HOME: an agent's home is its own, where what it needs is put."""
        return {name: value for name, value in self.environment.items() if name != "HOME"}

    def _agent_s(self, stage: Stage) -> float:
        """A step's own time, unless the benchmark's entry gives the task another."""
        return self.deadlines.agent_s if self.entry.timeout_s or not stage.agent_s else stage.agent_s

    async def _take(self, folder: TrialFolder, box: Box, before: TaskBaseline, number: int) -> Taken:
        private = folder.private / f"taking-{number}"
        return await in_time(COLLECT_S, "collect the work", self._collect(private, box, before))

    async def _collect(self, private: Path, box: Box, baseline: TaskBaseline) -> Taken:
        place = self.task.place
        await named_otherwise(box, place, GIT, KEPT_GIT)
        root = await left_in(box, place, private)
        until = time.monotonic() + COLLECT_S
        taken = await asyncio.to_thread(collect, root, baseline, private, until, place.parts)
        await named_otherwise(box, place, KEPT_GIT, GIT)
        return taken

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
            seconds = self.deadlines.of_verifier(self._spent_s)
            verdict = await self.verdict(
                patch, collected.tree, folder.private, seconds, folder.path / EVAL_LOG
            )
            folder.finish("verify")
        return verdict

    async def verdict(
        self, patch: bytes, tree: str | None, private: Path, seconds: float, log: Path
    ) -> PatchVerdict:
        """What the task's tests say of a patch in clean boxes, `tree` being the digest of what it has to give.

        Raises: VerifierError, SandboxError, DiskFull.
        """
        baseline = await self._baseline()
        work = await asyncio.to_thread(clean_files, self.task, baseline, patch, private, tree)
        reached = None
        if len(self.task.stages) > 1:
            reached = await asyncio.to_thread(self._reached, baseline, patch, private)
        verifying = Verifying(self.task, work.folder, self._terms(baseline, seconds, log), reached)
        verdict = await verifying.verdict()
        return replace(verdict, notes=(*work.notes, *verdict.notes))

    def _reached(self, baseline: TaskBaseline, patch: bytes, private: Path) -> Mapping[str, Path]:
        """The files after each step that was worked on, by the step's test script."""
        patches = parted(patch)
        found = {}
        for number, script in enumerate(self.task.tests[: len(patches)], 1):
            room = private / f"reached-{number}"
            found[script.path] = clean_files(self.task, baseline, joined(patches[:number]), room).folder
        return found

    def _terms(self, baseline: TaskBaseline, seconds: float, log: Path) -> VerifyTerms:
        policy = baseline.policy(self.task, self.policy)
        return VerifyTerms(self.sandbox, policy, self.environment, seconds, log, baseline)

    async def need_begun(self) -> None:
        """Make the task's files, and look whether the tests that an instance names can be found.

        Raises: VerifierError, SandboxError, DiskFull.
        """
        baseline = await self._baseline()
        with tempfile.TemporaryDirectory(prefix="look-", dir=baseline.place.parent) as room:
            terms = self._terms(baseline, self.deadlines.verifier_s, Path(room, "look.log"))
            await Verifying(self.task, baseline.files, terms).can_begin()

    async def _baseline(self) -> TaskBaseline:
        folder = Path(self.ref.data, "cache", "baselines")
        return await self.baselines.of(self.task, folder, self.sandbox, self.policy)

    @property
    def deadlines(self) -> Deadlines:
        return Deadlines.of(self.limits, self.task)

    @property
    def limits(self) -> TrialLimits:
        """The benchmark's, with what the task and its entry say of their own."""
        entry = replace(self.entry, timeout_s=self.entry.timeout_s or self.task.timeout_s)
        limits, own = entry.within(self.ref.limits), self.task.own
        memory_mb = min(limits.memory_mb, own.memory_mb or limits.memory_mb)
        return replace(limits, memory_mb=memory_mb, cpus=min(limits.cpus, own.cpus or limits.cpus))

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

    @property
    def _stages_s(self) -> float:
        """What the steps of a task took so far, which is no phase's yet."""
        return time.monotonic() - self._began if self._began else 0.0

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
