"""A benchmark of tasks as its TOML tells it, and the plan that it means: a row for each agent and model.

The tasks of one agent and model make one cell. Where a task occurs twice under them (a sweep), entries with other
settings make cells of their own, so that no two rows of the table are mixed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from proctor.errors import ConfigError
from proctor.plan.sweeps import labelled
from proctor.references import Agent, RolloutsRef, TaskEntry, TrialLimits
from proctor.types import Cell, Limits, Model, Plan

OF_FILE = ("name", "parallel", "tasks", "agents", "sandbox", "image", "limits", "pass_score")
OF_TASK = (
    *("prepared_dir", "model", "agent", "rollouts", "apply_overrides", "overrides"),
    *("environment_variables", "timeout_s"),
)
OF_AGENT = ("kind", "argv", "binary", "script", "environment_variables", "log", "base_url")
WITHOUT_MODEL = ("null", "reference", "scripted")
OVERRIDES = "overrides.json"


@dataclass(frozen=True, slots=True)
class TaskLine:
    """One [[tasks]] entry, read: who works on what."""

    agent: Agent
    entry: TaskEntry


def plan_of_toml(path: Path, *, data: Path, stamp: str) -> Plan:
    """The plan of a benchmark's file. Paths in it are relative to the working directory.

    Raises: ConfigError for what cannot be read, an unknown key, or a value of another type.
    """
    table = _table(path)
    _need_known(table, OF_FILE, str(path))
    if not table.get("tasks"):
        raise ConfigError(f"Empty or missing config: {path} lists no [[tasks]]")
    base = RolloutsRef(
        table.get("name", path.stem),
        config=str(path),
        data=str(data.absolute()),
        stamp=stamp,
        sandbox=table.get("sandbox", "bubblewrap"),
        image=table.get("image", "base"),
        limits=_limits(table.get("limits", {})),
        pass_score=table.get("pass_score", 1.0),
    )
    agents = table.get("agents", {})
    listed = [_listed(each, agents, f"{path}: tasks[{place}]") for place, each in enumerate(table["tasks"])]
    return Plan(labelled(_cells(base, listed, table.get("parallel", 1))), name=base.name)


def _table(path: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except FileNotFoundError:
        raise ConfigError(f"Config file {path} does not exist") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from None


def _need_known(table: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    if unknown := [key for key in table if key not in known]:
        raise ConfigError(f"{where}: unknown key {unknown[0]!r}; there are {', '.join(known)}")


def _limits(table: Mapping[str, Any]) -> TrialLimits:
    _need_known(table, [each.name for each in fields(TrialLimits)], "[limits]")
    return TrialLimits(**table)


def _listed(told: Mapping[str, Any], agents: Mapping[str, Any], where: str) -> TaskLine:
    _need_known(told, OF_TASK, where)
    if "prepared_dir" not in told:
        raise ConfigError(f"{where}: Each [[tasks]] entry must include prepared_dir")
    folder = Path(told["prepared_dir"]).absolute()
    overrides = Path(told["overrides"]).absolute() if "overrides" in told else folder / OVERRIDES
    applied = told.get("apply_overrides", True) and ("overrides" in told or overrides.is_file())
    variables = dict(told.get("environment_variables", {}))
    seconds = variables.pop("TIMEOUT_SEC", told.get("timeout_s"))
    entry = TaskEntry(
        str(folder),
        told.get("rollouts", 1),
        str(overrides) if applied else None,
        tuple(f"{name}={value}" for name, value in variables.items()),
        None if seconds is None else float(seconds),
    )
    return TaskLine(_agent(told, agents, where), entry)


def _agent(told: Mapping[str, Any], agents: Mapping[str, Any], where: str) -> Agent:
    name = told.get("agent", "shell")
    table = agents.get(name, {"kind": name})
    _need_known(table, OF_AGENT, f"agents.{name}")
    kind = table.get("kind", "command")
    model = None if kind in WITHOUT_MODEL else told.get("model")
    if kind not in WITHOUT_MODEL and model is None:
        raise ConfigError(f"{where}: agent {name!r} asks a model: model = ...")
    return Agent(
        name,
        kind,
        model,
        table.get("base_url"),
        tuple(table.get("argv", ())),
        table.get("binary"),
        str(Path(table["script"]).absolute()) if "script" in table else None,
        tuple(f"{key}={value}" for key, value in table.get("environment_variables", {}).items()),
        table.get("log"),
    )


def _cells(base: RolloutsRef, listed: Sequence[TaskLine], parallel: int) -> Sequence[Cell]:
    rows: dict[object, list[TaskLine]] = {}
    for each in listed:
        of = [other.entry.folder for other in listed if other.agent == each.agent]
        sweep = len(set(of)) < len(of)
        settings = (each.entry.environment, each.entry.timeout_s, each.entry.overrides) if sweep else None
        rows.setdefault((each.agent, settings), []).append(each)
    cells, first = [], 0
    for row in rows.values():
        entries = tuple(each.entry for each in row)
        agent = row[0].agent
        model = Model("agent", agent.name) if agent.model is None else Model(agent.name, agent.model)
        ref = replace(base, tasks=entries, first=first)
        repeats = max(entry.rollouts for entry in entries)
        cells.append(Cell(model, ref, limits=Limits(parallel=parallel), repeats=repeats, agent=agent))
        first += sum(entry.rollouts for entry in entries)
    return cells
