"""A benchmark of tasks as its TOML, or the body of a request, tells it, and the plan that it means.

The tasks of one agent and model make one cell. Where a task occurs under them with several settings (a sweep), each
settings make a cell of their own, and its name tells them, so that no two rows of a table are mixed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from proctor.errors import ConfigError
from proctor.given_files import toml_table
from proctor.plan.agents import AgentTables
from proctor.plan.rollouts_listed import OVERRIDES, TaskLine, budget_of, limits_of, listed
from proctor.plan.shipped_agents import AGENTS, AgentPlaces
from proctor.plan.sweeps import labelled
from proctor.plan.table import TableFaults, TableReader, Unread
from proctor.references import RolloutsRef, TaskEntry, TrialLimits
from proctor.types import Cell, Limits, Model, Plan

SANDBOXES = ("bubblewrap", "docker", "modal", "local")
RESERVED = ("temp",)  # data/rollouts/temp has files of all benchmarks
MOST_NAME = 100
MOST_PARALLEL = 256
MOST_TRIALS = 100_000
SETUP_S = 600.0  # of a benchmark, beside its trials
OTHER_FORMAT = ("runs", "defaults")  # of a file that compares agents on research tasks


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known beside the table: where it stands, who can be asked, and where files are written.

    `data` is the absolute folder of `rollouts/` and `runs/`; `stamp` "" is one that is yet to be reserved. `sandbox`
    is the environment's word, which wins over the table's.
    """

    where: str
    data: Path
    providers: Sequence[str]
    stamp: str = ""
    sandbox: str | None = None
    config: str | None = None  # the path of the TOML, as it was given


def plan_of_toml(path: Path, told: Surroundings) -> Plan:
    """The plan of a benchmark's file; without a name in it, it has that of the file. Raises: ConfigError."""
    try:
        table = toml_table(path.read_bytes(), str(path))
    except FileNotFoundError:
        raise ConfigError(f"Config file {path} does not exist") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    return plan_of_table({"name": path.stem, **table}, replace(told, config=str(path)))


def plan_of_table(table: Unread, told: Surroundings) -> Plan:
    """The plan of a benchmark. Paths in it are relative to the working directory.

    Raises: ConfigError with every fault: unknown keys, values of another type or out of range, what is not there.
    """
    faults = TableFaults(told.where)
    if not table.get("tasks") and any(key in table for key in OTHER_FORMAT):
        raise ConfigError(
            f"{told.where} lists [[runs]], another format (of comparisons on research tasks); proctor reads "
            "[[tasks]] with prepared_dir, model and rollouts"
        )
    if not table.get("tasks"):
        raise ConfigError(f"Empty or missing config: {told.where} lists no [[tasks]]")
    read = TableReader(table, faults)
    base = RolloutsRef(
        _name(read),
        config=told.config,
        data=str(told.data.absolute()),
        stamp=told.stamp,
        sandbox=_sandbox(read, told.sandbox),
        image=read.text("image") or "base",
        limits=limits_of(read.inner("limits")),
        pass_score=read.number("pass_score", 0.001, 1) or 1.0,
        budget=budget_of(read.inner("budget")),
    )
    parallel = read.whole("parallel", 1, MOST_PARALLEL) or 1
    agents = AgentTables(read.take("agents", dict) or {}, told.providers, AgentPlaces(told.data / AGENTS))
    lines = list(_lines(read, agents))
    read.close()
    if sum(line.entry.rollouts for line in lines) > MOST_TRIALS:
        faults.note(f"it means more than {MOST_TRIALS:,} trials: make several benchmarks of it")
    faults.complain()
    return Plan(labelled(tuple(_cells(base, lines, parallel))), name=base.name)


def benchmark_fault(name: str) -> str | None:
    """Why a benchmark cannot have this name, which is a folder's too; None where it can."""
    if name in RESERVED:
        return f"{name!r} is a folder of proctor's own: choose another"
    if (
        not name.isprintable()
        or any(each in name for each in '/\\:*?"<>|')
        or name[:1] in (".", "-", "~", " ", "")
    ):
        return (
            f"{name!r} names a folder: letters, digits and _.- without a slash, a dot first or a space first"
        )
    if len(name.encode()) > MOST_NAME:
        return f"it is longer than {MOST_NAME} bytes"
    return None


def _name(read: TableReader) -> str:
    name = read.text("name")
    if name is None:
        if "name" not in read.table:
            read.note("name", "a benchmark has a name")
        return ""
    if fault := benchmark_fault(name):
        read.note("name", fault)
    return name


def _sandbox(read: TableReader, wanted: str | None) -> str:
    named = read.text("sandbox")
    for source, word in (("SANDBOX_BACKEND", wanted), ("sandbox", named)):
        if word is not None and word not in SANDBOXES:
            read.note(source, f"{word!r}: there are {', '.join(SANDBOXES)}")
    return wanted or named or SANDBOXES[0]


def _lines(read: TableReader, agents: AgentTables) -> Iterator[TaskLine]:
    for number, each in enumerate(read.take("tasks", list) or [], 1):
        place = f"[[tasks]] {number}"
        if not isinstance(each, dict):
            read.faults.note(f"{place}: a table belongs here")
        elif (line := listed(TableReader(each, read.faults, place), agents)) is not None:
            yield line


def _cells(base: RolloutsRef, lines: Sequence[TaskLine], parallel: int) -> Iterator[Cell]:
    first = 0
    for row in _rows(lines):
        entries, agent = _merged(line.entry for line in row), row[0].agent
        yield Cell(
            Model("agent", agent.name) if agent.model is None else Model(agent.name, agent.model),
            replace(base, tasks=entries, first=first),
            row[0].sampling,
            limits=Limits(parallel=parallel, timeout_s=_longest_s(base.limits, entries, parallel)),
            repeats=max(entry.rollouts for entry in entries),
            agent=agent,
        )
        first += sum(entry.rollouts for entry in entries)


def _rows(lines: Sequence[TaskLine]) -> Iterator[Sequence[TaskLine]]:
    """The rows in the order of their first entries: one for each agent and model, and in a sweep for each settings."""
    by_agent: dict[object, list[TaskLine]] = {}
    for line in lines:
        by_agent.setdefault(line.agent, []).append(line)
    for of in by_agent.values():
        rows: dict[object, list[TaskLine]] = {}
        sweep = _is_sweep(of)
        for line in of:
            rows.setdefault(_settings(line) if sweep else None, []).append(line)
        yield from rows.values()


def _is_sweep(lines: Sequence[TaskLine]) -> bool:
    """Whether a task occurs with several settings."""
    settings: dict[str, object] = {}
    return any(settings.setdefault(line.entry.folder, _settings(line)) != _settings(line) for line in lines)


def _settings(line: TaskLine) -> object:
    entry = line.entry
    # Every task may have an overrides.json of its own.
    own = entry.overrides == str(Path(entry.folder, OVERRIDES))
    return entry.environment, entry.timeout_s, entry.token_limit, OVERRIDES if own else entry.overrides


def _merged(entries: Iterator[TaskEntry]) -> tuple[TaskEntry, ...]:
    """An entry that is listed again, alike in everything, adds its rollouts to the first."""
    found: dict[str, TaskEntry] = {}
    for entry in entries:
        first = found.get(entry.folder)
        rollouts = entry.rollouts + (first.rollouts if first else 0)
        found[entry.folder] = replace(first or entry, rollouts=rollouts)
    return tuple(found.values())


def _longest_s(limits: TrialLimits, entries: Sequence[TaskEntry], parallel: int) -> float:
    """How long the row takes if every trial takes as long as it may, so that no limit of runs cuts it short."""
    whole = sum(entry.within(limits).trial_s * entry.rollouts for entry in entries)
    longest = max(entry.within(limits).trial_s for entry in entries)
    return max(Limits().timeout_s, math.ceil(whole / parallel + longest + SETUP_S))
