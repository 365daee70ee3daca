"""The choice of what is compared: the models that may be, those that are, and which one is the baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proctor.errors import NotFound
from proctor.service.context import Context
from proctor.service.kinds import kind_of
from proctor.service.opening.catalogue import suite_facts
from proctor.service.watch import job_states
from proctor.service.watch.job_states import RunFilter, RunLine
from proctor.types import Status
from proctor.web.addresses import query


@dataclass(frozen=True, slots=True)
class Choice:
    """A model that may be compared, and its complete runs."""

    name: str
    runs: int
    newest: RunLine
    chosen: bool


@dataclass(frozen=True, slots=True)
class Picked:
    """What is compared, under its `value` in the address: `first` is the baseline, `as_first` makes it that."""

    value: str
    title: str
    note: str
    first: bool
    as_first: str
    without: str


def choices(context: Context, suite: str, project: int | None, chosen: Sequence[str]) -> list[Choice]:
    """The models with complete runs, by name."""
    wanted = RunFilter(source=suite or None, status=Status.COMPLETED, project_id=project, graded=True)
    found: dict[str, list[RunLine]] = {}
    for line in job_states.run_lines(context, wanted, limit=2000)[0]:
        if line.complete:
            found.setdefault(line.full_model, []).append(line)
    return [Choice(name, len(of), of[0], name in chosen) for name, of in sorted(found.items())]


def picked(context: Context, chosen: Sequence[str], asked: Mapping[str, Any]) -> list[Picked]:
    """What the address names, in its order; `asked` is the rest of the address."""
    found = []
    for name in chosen:
        title, note = _titled(context, name)
        others = [each for each in chosen if each != name]
        found.append(
            Picked(
                name,
                title,
                note,
                name == chosen[0],
                "/compare" + query(asked, runs=[name, *others]),
                "/compare" + query(asked, runs=others),
            )
        )
    return found


def _titled(context: Context, name: str) -> tuple[str, str]:
    """A model by its name, a run by its model with the beginning of its id."""
    if "/" in name:
        return name, ""
    try:
        run = job_states.run_of(context, name)
    except NotFound:
        return name, ""
    return str(run.cell.model), f"run {run.id[:8]}"


def are_batches(context: Context, names: Sequence[str]) -> bool:
    """Whether all are runs of requests without right answers, whose replies are compared and not their scores."""
    try:
        runs = [job_states.run_of(context, name) for name in names]
    except NotFound:
        return False
    return all(run.comparability is None and kind_of(run.cell.source).holds == "requests" for run in runs)


def sources(context: Context) -> list[tuple[str, str]]:
    """Suites, and whatever else has runs."""
    named = [(each["suite"], each["title"]) for each in suite_facts()]
    known = {name for name, _ in named}
    seen = dict.fromkeys(line.source for line in job_states.run_lines(context, RunFilter(), limit=500)[0])
    return [*named, *((name, name) for name in seen if name not in known)]
