"""Tasks for agents as a kind of source: each is worked on in a sandbox, and the work is verified in another."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial

from proctor.engine.agents.opening import open_agent
from proctor.engine.trials.runner import TrialRunner, verdict
from proctor.errors import ConfigError
from proctor.providers.contract import Opening, Provider
from proctor.references import RolloutsRef
from proctor.sandbox.opening import open_sandbox
from proctor.service.context import Context
from proctor.service.kinds.contract import Method, SourceKind
from proctor.service.output.benchmark_files import benchmark_files
from proctor.service.output.stamps import afresh
from proctor.settings import Settings
from proctor.sources.rollouts.source import RolloutsSource, open_rollouts
from proctor.types import Cell, Item, Run


def opened(ref: RolloutsRef, settings: Settings) -> RolloutsSource:
    return open_rollouts(ref, settings.home)


def sized(ref: RolloutsRef, _context: Context) -> int:
    return len(ref.tasks)


def method_of(source: RolloutsSource) -> Method:
    return Method(verdict, opener=partial(in_sandboxes, source))


def in_sandboxes(source: RolloutsSource, cell: Cell, opening: Opening) -> Provider:
    """Raises: ConfigError, SandboxMissing."""
    assert isinstance(cell.source, RolloutsRef)
    if cell.agent is None:
        raise ConfigError(f"{cell.source.name}: tasks are worked on by an agent, and none is named")
    need_fit(source, cell.source.sandbox)
    sandbox = open_sandbox(cell.source, opening.settings.home)
    return TrialRunner(cell.source, source, sandbox, open_agent(cell.agent), cell.model)


def need_fit(source: RolloutsSource, sandbox: str) -> None:
    """Raises: ConfigError for tasks that cannot be run in this sandbox, all of them at once."""
    told = [why for task in source.tasks if (why := task.refusal(sandbox)) is not None]
    if told:
        raise ConfigError("\n".join(told))


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


ROLLOUTS: SourceKind[RolloutsRef, RolloutsSource] = SourceKind(
    short="",
    sized=sized,
    alike=tasks,
    open=opened,
    method=method_of,
    repeats=rollouts_of,
    planned=planned,
    called=called,
    beside=benchmark_files,
    afresh=stamped_anew,
    holds="tasks",
    own=True,
)
