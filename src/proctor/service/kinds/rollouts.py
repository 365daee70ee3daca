"""Tasks for agents as a kind of source: each is worked on in a sandbox, and the work is verified in another."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from pathlib import Path

from proctor.engine.agents.opening import open_agent
from proctor.engine.trials.runner import TrialRunner, verdict
from proctor.errors import ConfigError
from proctor.providers.contract import Opening, Provider
from proctor.references import RolloutsRef
from proctor.sandbox.opening import lacking as sandbox_lacking
from proctor.sandbox.opening import open_sandbox
from proctor.service.context import Context
from proctor.service.kinds.contract import Method, SourceKind
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
    """Its tasks are folders of a machine, and its files are written to one."""
    paths = [ref.data, *(path for entry in ref.tasks for path in (entry.folder, entry.overrides) if path)]
    missing = list(dict.fromkeys(path for path in paths if path and not Path(path).exists()))
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
    sandbox = open_sandbox(cell.source, opening.settings.home)
    return TrialRunner(cell.source, source, sandbox, open_agent(cell.agent, cell, opening), cell.model)


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
            f"agent {agent}: no reference patch (overlay_files/diff.patch) in {', '.join(without)}: leave the agent "
            "out there"
        )


def rollouts_of(source: RolloutsSource, item: Item, _cell: Cell) -> int:
    return source.facts.rollouts[item.id]


def planned(source: RolloutsSource, _cell: Cell) -> int:
    return sum(source.facts.rollouts.values())


def tasks(ref: RolloutsRef) -> Hashable:
    return tuple(entry.folder for entry in ref.tasks)


def stamped_anew(refs: Sequence[RolloutsRef], settings: Settings) -> Sequence[RolloutsRef]:
    return afresh(refs, settings.home)


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


def folders_of(ref: RolloutsRef, settings: Settings, last: bool) -> Sequence[Path]:
    """The folders of a run's trials; with the last run of a benchmark those of the benchmark."""
    home = settings.home.absolute()
    if not ref.stamp or Path(ref.data) != home:
        return ()  # they were written elsewhere, where this machine has nothing to delete
    trials = sum(entry.rollouts for entry in ref.tasks)
    found = [home / "runs" / f"{ref.stamp}-{ref.first + number}" for number in range(trials)]
    if last:
        found += [
            home / "rollouts" / ref.name / ref.stamp,
            home / "rollouts" / "temp" / f"rollout_{ref.name}__{ref.stamp}.json",
        ]
    return found


ROLLOUTS: SourceKind[RolloutsRef, RolloutsSource] = SourceKind(
    short="",
    sized=sized,
    alike=tasks,
    open=opened,
    lacking=lacking,
    method=method_of,
    repeats=rollouts_of,
    planned=planned,
    logged=logged,
    folders=folders_of,
    called=called,
    beside=benchmark_files,
    afresh=stamped_anew,
    holds="tasks",
    by_content=True,
    own=True,
)
