"""Trials as the engine asks for them: an item is a task, a repeat is a rollout, a reply is a patch with its verdict."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from proctor.engine.agents.contract import AgentAtWork
from proctor.engine.trials.baseline import Baselines
from proctor.engine.trials.requirements import need_requirements
from proctor.engine.trials.trial import Trial, folder_of
from proctor.errors import SandboxMissing, VerifierError
from proctor.offered import ListedModel
from proctor.providers.contract import Pacing
from proctor.references import RolloutsRef, TaskEntry
from proctor.sandbox.contract import Policy, Sandbox
from proctor.sources.rollouts.source import RolloutsSource
from proctor.sources.rollouts.task import PreparedTask
from proctor.trial_record import record_from
from proctor.types import Grade, Item, Model, Outcome, Reply

PARALLEL = 4


@dataclass(frozen=True, slots=True)
class TrialRunner:
    """A Solver with a preflight: the sandbox and the agent are tried before any trial. Its places are trials."""

    ref: RolloutsRef
    source: RolloutsSource
    sandbox: Sandbox
    agent: AgentAtWork
    model: Model
    address: str = ""
    baselines: Baselines = field(default_factory=Baselines)

    @property
    def unsent(self) -> Collection[str]:
        return self.agent.unsent

    @property
    def adjustments(self) -> Sequence[str]:
        return self.agent.adjustments

    @property
    def pacing(self) -> Pacing:
        return Pacing(PARALLEL, PARALLEL, fixed=True)

    async def check(self) -> ListedModel:
        limits = self.ref.limits
        policy = Policy(limits.memory_mb, limits.cpus, limits.pids, limits.disk_mb)
        await self.sandbox.check(policy)
        remarks = await need_requirements(self.sandbox, policy, self.source.tasks)
        for task, entry in self.source.by_id.values():
            await need_begun(self.trial(task, entry, 0))
        listed = await self.agent.check() or ListedModel(self.model)
        return replace(listed, model=self.model, remarks=(*listed.remarks, *remarks))

    async def warm(self) -> None:
        await self.agent.warm()

    async def __call__(self, item: Item, repeat: int) -> Reply:
        task, entry = self.source.by_id[item.id]
        return await self.trial(task, entry, repeat).run()

    def trial(self, task: PreparedTask, entry: TaskEntry, repeat: int) -> Trial:
        return Trial(
            self.ref,
            task,
            entry,
            repeat,
            folder_of(self.ref, self.numbers[task.id] + repeat),
            self.sandbox,
            self.agent,
            self.baselines,
            str(self.model),
        )

    @property
    def numbers(self) -> Mapping[str, int]:
        """The number of each task's first trial."""
        counts = [entry.rollouts for entry in self.source.entries]
        firsts = accumulate(counts, initial=self.ref.first)
        return dict(zip((task.id for task in self.source.tasks), firsts, strict=False))


async def need_begun(trial: Trial) -> None:
    """Make the files of a task of others, and look whether its tests can begin, before any agent is asked.

    Raises: SandboxMissing for what cannot be done here; SandboxError, DiskFull.
    """
    task = trial.task
    instance = any(script.runner == "instance" for script in task.tests)
    if instance or not task.place.whole:
        try:
            await trial.need_begun()
        except VerifierError as error:
            raise SandboxMissing(
                f"{task.id}: its tests cannot begin in these boxes, {error}. Put what they lack into the image "
                "(`proctor sandbox image --with PACKAGE`), or name an image that has it (image = ...)"
            ) from None


def verdict(_item: Item, reply: Reply) -> Grade:
    """The grade that a trial's record tells."""
    record = record_from(reply.raw)
    outcome = Outcome.CORRECT if record.passed else Outcome.WRONG
    return Grade(outcome, record.score, "passed" if record.passed else "failed", grader="verifier/1")
