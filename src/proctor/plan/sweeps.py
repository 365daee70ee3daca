"""Rows of one agent and model that differ in their settings (a sweep): each is called by what differs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import PurePath

from proctor.references import Agent, RolloutsRef, TaskEntry
from proctor.types import Cell, Sampling

SECRET = re.compile(r"key|token|secret|passw|credential|auth", re.I)
MOST_CHARACTERS = 30  # of a value


def labelled(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """The cells with model names that differ: "gpt-4 (timeout 1800 s)" where another row is gpt-4 too.

    The label is part of the row's name, so that every table, board and history tells the rows apart; the model that
    the agent asks (`Agent.model`) stays as it is. Values of variables that look like secrets are not written.
    """
    times = Counter(str(cell.model) for cell in cells)
    named: list[Cell] = []
    taken: set[str] = set()
    for cell in cells:
        if times[str(cell.model)] > 1:
            alike = [other for other in cells if str(other.model) == str(cell.model)]
            cell = _called(cell, _apart(cell, alike), taken)
        taken.add(str(cell.model))
        named.append(cell)
    return tuple(named)


def _called(cell: Cell, label: str, taken: set[str]) -> Cell:
    """The cell under its label, with a number behind it where another has that name already."""
    number, name = 1, label
    while not name or f"{cell.model} ({name})" in taken:
        number += 1
        name = f"{label}, {number}" if label else str(number - 1)
    return replace(cell, model=replace(cell.model, name=f"{cell.model.name} ({name})"))


def _apart(cell: Cell, alike: Sequence[Cell]) -> str:
    """What of a cell's settings is not the same in all of these."""
    every = [dict(_settings(other)) for other in alike]
    own = dict(_settings(cell))
    names = dict.fromkeys(name for each in every for name in each)
    differing = [name for name in names if len({each.get(name, "") for each in every}) > 1]
    return ", ".join(own.get(name) or f"no {name}" for name in differing)


def _settings(cell: Cell) -> Iterator[tuple[str, str]]:
    """Name and words of each setting; those of tasks as far as all tasks of the row share them."""
    if isinstance(cell.source, RolloutsRef):
        of_tasks = [dict(_of_task(entry)) for entry in cell.source.tasks]
        for name in dict.fromkeys(name for each in of_tasks for name in each):
            words = {each.get(name, "") for each in of_tasks}
            yield name, words.pop() if len(words) == 1 else f"{name} by task"
    if cell.agent is not None:
        yield from _of_agent(cell.agent)
    usual = Sampling()
    for each in fields(Sampling):
        if (value := getattr(cell.sampling, each.name)) != getattr(usual, each.name):
            yield each.name, f"{each.name.replace('_', ' ')} {_short(str(value))}"


def _of_task(entry: TaskEntry) -> Iterator[tuple[str, str]]:
    if entry.timeout_s is not None:
        yield "timeout", f"timeout {entry.timeout_s:g} s"
    if entry.token_limit is not None:
        yield "tokens", f"{entry.token_limit} tokens"
    if entry.overrides is not None:
        yield "overrides", f"overrides {_short(PurePath(entry.overrides).name)}"
    yield from _variables(entry.environment)


def _of_agent(agent: Agent) -> Iterator[tuple[str, str]]:
    told: Mapping[str, str | None] = {
        "server": agent.base_url,
        "binary": agent.binary,
        "script": agent.script,
    }
    for name, value in told.items():
        if value is not None:
            yield name, f"{name} {_short(PurePath(value).name if name != 'server' else value)}"
    if agent.argv:
        yield "command", f"command {_short(' '.join(agent.argv))}"
    yield from _variables(agent.environment)


def _variables(environment: Sequence[str]) -> Iterator[tuple[str, str]]:
    for each in environment:
        name, _, value = each.partition("=")
        yield name, f"{name} set" if SECRET.search(name) else f"{name}={_short(value)}"


def _short(value: str) -> str:
    """
    >>> _short("a" * 40)
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaa…'
    """
    return value if len(value) <= MOST_CHARACTERS else f"{value[: MOST_CHARACTERS - 1]}…"
