"""One [[tasks]] entry of a benchmark and the agents that its file describes: each key of its type, faults noted."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from proctor.given_files import is_file, is_folder
from proctor.plan.agents import AgentTables
from proctor.plan.table import TableReader
from proctor.references import Agent, BenchmarkBudget, TaskEntry, TrialLimits
from proctor.types import Sampling

OVERRIDES = "overrides.json"
META = "tb_meta.json"
OF_OTHERS = ("task.toml", "instance.jsonl", "task.yaml")  # by which tasks of other makers are known
INSTANCES = (".jsonl", ".json")
TIMEOUT = "TIMEOUT_SEC"  # a variable that means the agent's time
WEEK_S = 7 * 86400.0
MOST_ROLLOUTS = 1000
MOST_TOKENS = 10**12
UNBOUNDED = "none"

LIMITS: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(("agent_s", "verifier_s", "trial_s"), (0.1, WEEK_S)),
    "memory_mb": (16, 2**24),
    "cpus": (0.01, 4096),
    "pids": (4, 2**22),
    "disk_mb": (1, 2**24),
    "output_mb": (0.001, 10_000),
    "max_tokens": (1, MOST_TOKENS),
    "max_cost_usd": (0.0001, 10**9),
    "max_calls": (1, 10**9),
}


@dataclass(frozen=True, slots=True)
class TaskLine:
    """One [[tasks]] entry, read: who works on what."""

    agent: Agent
    entry: TaskEntry
    sampling: Sampling = Sampling()


def _lines(variables: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{name}={value}" for name, value in variables.items())


def limits_of(read: TableReader) -> TrialLimits:
    """[limits]: what is not told is as TrialLimits has it; "none" lifts a limit that may be lifted."""
    found: dict[str, Any] = {}
    for each in fields(TrialLimits):
        least, most = LIMITS[each.name]
        if "None" in str(each.type) and read.table.get(each.name) == UNBOUNDED:
            read.known.append(each.name)
            found[each.name] = None
            continue
        take = read.whole if "int" in str(each.type) else read.number
        value = take(each.name, least, most)
        if value is not None:
            found[each.name] = value
    read.close()
    return TrialLimits(**found)


def budget_of(read: TableReader) -> BenchmarkBudget:
    """[budget]: what all trials of the benchmark may ask of their models together."""
    found = BenchmarkBudget(
        read.whole("max_tokens", *LIMITS["max_tokens"]),
        read.number("max_cost_usd", *LIMITS["max_cost_usd"]),
        read.whole("max_calls", *LIMITS["max_calls"]),
    )
    read.close()
    return found


def listed(read: TableReader, agents: AgentTables) -> TaskLine | None:
    """One entry; None where it is not known who works on what, which is noted then."""
    given = read.text("prepared_dir")
    if given is None and "prepared_dir" not in read.table:
        read.note("", "Each [[tasks]] entry must include prepared_dir")
    agent = agents.named(read.text("agent") or "shell", read.text("model"), read)
    variables = read.variables("environment_variables")
    entry = TaskEntry(
        str(_folder(read, given)) if given else "",
        read.whole("rollouts", 1, MOST_ROLLOUTS) or 1,
        _overrides(read, Path(given or "").absolute()),
        timeout_s=_timeout(read, variables),
        token_limit=read.whole("token_limit", 1, MOST_TOKENS),
        environment=_lines(variables),
        given=given or "",
    )
    read.close()
    return None if agent is None or given is None else TaskLine(agent[0], entry, agent[1])


def _folder(read: TableReader, given: str) -> Path:
    # A path that is written in two ways is one task; links are followed where the task is opened.
    folder = Path(os.path.normpath(Path(given).absolute()))
    file, mark, _ = str(folder).partition("#")
    if mark or file.endswith(INSTANCES):  # an instance of a file: FILE.jsonl#ID
        if not is_file(Path(file)):
            read.note("prepared_dir", f"there is no file {given.partition('#')[0]}")
    elif not is_folder(folder):
        read.note("prepared_dir", f"there is no folder {given}")
    elif not any(is_file(folder / name) for name in (META, *OF_OTHERS)):
        read.note("prepared_dir", f"{given} is no prepared task: it has no {META}")
    return folder


def _overrides(read: TableReader, folder: Path) -> str | None:
    """One rule: `apply_overrides = false` is none at all; else the file that is named, else the folder's own."""
    applied = read.flag("apply_overrides", unsaid=True)
    named = read.text("overrides")
    if not applied:
        return None
    if named is None:
        own = folder / OVERRIDES
        return str(own) if is_file(own) else None
    path = Path(named).absolute()
    if not is_file(path):
        read.note("overrides", f"there is no file {named} (apply_overrides = false does without)")
    return str(path)


def _timeout(read: TableReader, variables: dict[str, str]) -> float | None:
    """The agent's time, by `timeout_s` or by the variable TIMEOUT_SEC, which is taken out of the variables."""
    own = read.number("timeout_s", 0.1, WEEK_S)
    told = variables.pop(TIMEOUT, None)
    if told is None:
        return own
    try:
        seconds = float(told)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= WEEK_S:
        read.note("environment_variables", f"{TIMEOUT} = {told!r}: give seconds, 0.1 to {WEEK_S:g}")
        return own
    if own is not None and own != seconds:
        read.note("timeout_s", f"{own:g}, and {TIMEOUT} says {told}: give one of them")
    return seconds
