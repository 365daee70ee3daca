"""Tasks for agents as a kind of source: each is worked on in a sandbox, and the work is verified in another."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from proctor.engine.agents.opening import open_agent
from proctor.engine.trials.runner import TrialRunner, verdict
from proctor.errors import ConfigError
from proctor.providers.contract import Opening, Provider
from proctor.references import BenchmarkBudget, RolloutsRef
from proctor.sandbox.opening import lacking as sandbox_lacking
from proctor.sandbox.opening import open_sandbox
from proctor.service.context import Context
from proctor.service.hosts import trials
from proctor.service.hosts.agents import agent_here
from proctor.service.hosts.places import at_home, trial_folder
from proctor.service.hosts.tasks import bring_tasks, lacking_tasks, share_tasks
from proctor.service.kinds.contract import Beside, Method, SourceKind
from proctor.service.output.benchmark_files import benchmark_files
from proctor.service.output.stamps import afresh
from proctor.settings import Settings
from proctor.sources.rollouts.source import RolloutsSource, open_rollouts
from proctor.types import Attempt, Cell, Item, Run


def opened(ref: RolloutsRef, settings: Settings) -> RolloutsSource:
    return open_rollouts(ref, settings.home)


def sized(ref: RolloutsRef, _context: Context) -> int:
    return len(ref.tasks)


def lacking(ref: RolloutsRef, context: Context) -> str | None:
    """A sandbox, and tasks that were not handed in for other machines, or are too large for the place they share."""
    missing = lacking_tasks(ref, context)
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        return f"the folders of its tasks ({', '.join(missing[:3])}{more}), which lie on another machine"
    return sandbox_lacking(ref, context.settings.home)


def method_of(source: RolloutsSource) -> Method:
    return Method(verdict, opener=partial(in_sandboxes, source))


def in_sandboxes(source: RolloutsSource, cell: Cell, opening: Opening) -> Provider:
    """Raises: ConfigError, SandboxMissing."""
    assert isinstance(cell.source, RolloutsRef)
    if cell.agent is None:
        raise ConfigError(f"{cell.source.name}: tasks are worked on by an agent, and none is named")
    need_fit(source, cell.source.sandbox)
    if cell.agent.kind == "reference":
        need_solutions(source, cell.agent.name)
    ref, agent = at_home(cell.source, opening.settings), agent_here(cell.agent, opening.settings)
    sandbox = open_sandbox(ref, opening.settings.home)
    return TrialRunner(ref, source, sandbox, open_agent(agent, cell, opening), cell.model)


def need_fit(source: RolloutsSource, sandbox: str) -> None:
    """Raises: ConfigError for tasks that cannot be run in this sandbox, all of them at once."""
    told = [why for task in source.tasks if (why := task.refusal(sandbox)) is not None]
    if told:
        raise ConfigError("\n".join(told))


def need_solutions(source: RolloutsSource, agent: str) -> None:
    """Raises: ConfigError for tasks without a reference patch, all of them at once."""
    without = [task.id for task in source.tasks if task.reference is None]
    if without:
        raise ConfigError(
            f"agent {agent}: no reference patch (overlay_files/diff.patch, solution/solve.sh) in {', '.join(without)}: "
            "leave the agent out there"
        )


def rollouts_of(source: RolloutsSource, item: Item, _cell: Cell) -> int:
    return source.facts.rollouts[item.id]


def planned(source: RolloutsSource, _cell: Cell) -> int:
    return sum(source.facts.rollouts.values())


def tasks(ref: RolloutsRef) -> Hashable:
    return tuple(entry.folder for entry in ref.tasks)


def stamped_anew(refs: Sequence[RolloutsRef], context: Context) -> Sequence[RolloutsRef]:
    return afresh(refs, context.settings.home, context.store)


def files_beside(ref: RolloutsRef, settings: Settings) -> AbstractContextManager[Beside | None]:
    return benchmark_files(ref, settings)


def called(run: Run) -> str:
    return run.cell.source.listed


def logged(_ref: RolloutsRef, attempt: Attempt) -> str | None:
    """How a trial ended: its verdict, or the class of what kept it from one. What agents say stays in its record."""
    about = f"trial {attempt.item.id}, rollout {attempt.repeat}"
    if attempt.failure is not None:
        return f"{about}: {attempt.failure.slug}: {attempt.failure.message.partition(chr(10))[0][:300]}"
    grade, reply = attempt.grade, attempt.reply
    seconds = f", {reply.latency_s:.1f} s" if reply is not None and reply.latency_s is not None else ""
    score = "" if grade.score is None else f", score {grade.score:.2f}"
    return f"{about}: {grade.answer}{score}{seconds}"


def forgotten(run: Run, context: Context) -> None:
    """What is shared of a deleted run's trials."""
    trials.drop(context, run.id)


def folders_of(ref: RolloutsRef, settings: Settings, last: bool) -> Sequence[Path]:
    """The folders of a run's trials; with the last run of a benchmark those of the benchmark."""
    home = settings.home.absolute()
    if not ref.stamp:
        return ()
    count = sum(entry.rollouts for entry in ref.tasks)
    found = [trial_folder(ref, settings, ref.first + number) for number in range(count)]
    if last:
        found += [
            home / "rollouts" / ref.name / ref.stamp,
            home / "rollouts" / "temp" / f"rollout_{ref.name}__{ref.stamp}.json",
        ]
    return found


def budget_of(ref: RolloutsRef) -> tuple[Hashable, BenchmarkBudget] | None:
    return ((ref.data, ref.name, ref.stamp), ref.budget) if ref.budget else None


ROLLOUTS: SourceKind[RolloutsRef, RolloutsSource] = SourceKind(
    short="",
    sized=sized,
    alike=tasks,
    open=opened,
    bring=bring_tasks,
    lacking=lacking,
    share=share_tasks,
    sends=trials.sender,
    forget=forgotten,
    method=method_of,
    repeats=rollouts_of,
    planned=planned,
    logged=logged,
    folders=folders_of,
    called=called,
    beside=files_beside,
    afresh=stamped_anew,
    budget=budget_of,
    holds="tasks",
    by_content=True,
    own=True,
)
