"""Trials as the engine asks for them: an item is a task, a repeat is a rollout, a reply is a patch with its verdict."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from proctor.engine.agents.contract import AgentAtWork
from proctor.engine.trials.baseline import Baselines
from proctor.engine.trials.requirements import need_requirements
from proctor.engine.trials.trial import Trial, folder_of
from proctor.offered import ListedModel
from proctor.providers.contract import Pacing
from proctor.references import RolloutsRef
from proctor.sandbox.contract import Policy, Sandbox
from proctor.sources.rollouts.source import RolloutsSource
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
        await need_requirements(self.sandbox, policy, self.source.tasks)
        listed = await self.agent.check()
        return replace(listed, model=self.model) if listed else ListedModel(self.model)

    async def warm(self) -> None:
        await self.agent.warm()

    async def __call__(self, item: Item, repeat: int) -> Reply:
        task, entry = self.source.by_id[item.id]
        trial = Trial(
            self.ref,
            task,
            entry,
            repeat,
            folder_of(self.ref, self.numbers[item.id] + repeat),
            self.sandbox,
            self.agent,
            self.baselines,
            str(self.model),
        )
        return await trial.run()

    @property
    def numbers(self) -> Mapping[str, int]:
        """The number of each task's first trial."""
        counts = [entry.rollouts for entry in self.source.entries]
        firsts = accumulate(counts, initial=self.ref.first)
        return dict(zip((task.id for task in self.source.tasks), firsts, strict=False))


def verdict(_item: Item, reply: Reply) -> Grade:
    """The grade that a trial's record tells."""
    record = record_from(reply.raw)
    outcome = Outcome.CORRECT if record.passed else Outcome.WRONG
    return Grade(outcome, record.score, "passed" if record.passed else "failed", grader="verifier/1")
