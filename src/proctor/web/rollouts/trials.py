"""The dashboard: the trials of a benchmark as a list, sorted and filtered, one of them open beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response, StreamingResponse

from proctor.errors import ConfigError
from proctor.service.context import Context
from proctor.service.data.transfer import export_rows
from proctor.service.rollouts import benchmark, trial
from proctor.service.rollouts.benchmark import RolloutBenchmark, TrialCell
from proctor.service.rollouts.trial import TrialName
from proctor.service.watch import job_states
from proctor.service.watch.item import chosen
from proctor.web.dependencies import Filling, OpenContext, Reader, Text, is_fragment
from proctor.web.render import show
from proctor.web.rollouts.benchmark import Ident, Word
from proctor.web.rollouts.named import file_headers
from proctor.web.rollouts.trial import cure_of, same_task
from proctor.web.rollouts.words import ENDS, STATES, UNSCORED

ROUTER = APIRouter()
PAGE_ROWS = 50
MOST_PICKED = 190
STEPS = 4  # of the agent's last ones, in the pane
LONG = 600  # characters of what a step printed from which it is folded
SORTS = ("score", "seconds", "tokens", "cost_usd")
# A trial in an address and in a ticked box: RUN/ROLLOUT/TASK, for a task may be called anything.
TRIAL = re.compile(r"([^/]{1,100})/([0-9]{1,9})/(.{1,2000})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TrialListQuery:
    """Which trials, in which order, from which place on, and which of them is open."""

    state: Word = ""
    agent: Text = ""
    task: Text = ""
    sort: Word = ""
    order: Word = ""
    start: Annotated[int, Query(ge=0, le=10**6)] = 0
    at: Annotated[str, Query(max_length=2_200)] = ""

    def query(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value and name not in ("at", "start")}

    def fits(self, cell: TrialCell) -> bool:
        return (
            (
                not self.state
                or cell.state == self.state
                or (self.state == "unscored" and cell.state in UNSCORED)
            )
            and self.agent in ("", cell.label)
            and self.task.lower() in cell.task.lower()
        )

    def sorted(self, cells: list[TrialCell]) -> list[TrialCell]:
        """By what was measured, those without it last; as they were planned where nothing is named."""
        down = self.order == "desc"
        if self.sort not in SORTS:
            return cells[::-1] if down else cells
        known = [cell for cell in cells if getattr(cell, self.sort) is not None]
        lacking = [cell for cell in cells if getattr(cell, self.sort) is None]
        return sorted(known, key=lambda cell: getattr(cell, self.sort), reverse=down) + lacking


Asked = Annotated[TrialListQuery, Depends()]


@ROUTER.get("/rollouts/{ident}/trials")
def listed(request: Request, context: OpenContext, user: Reader, ident: Ident, asked: Asked) -> Response:
    of = benchmark.one(context, ident)
    piece = request.headers.get("hx-target") if is_fragment(request) else None
    facts: dict[str, Any] = {"of": of, "asked": asked.query(), "filter": asked, "pane_of": None}
    if asked.at:
        facts["pane_of"] = _pane(context, of, asked.at)
    if piece == "pane" and asked.at:
        return show(request, "_trial_pane.html", **facts)
    found = asked.sorted([cell for cell in _in_order(of) if asked.fits(cell)])
    counts = {name: sum(cell.state == name for cell in of.all_trials) for name in STATES}
    facts |= {
        "cells": found[asked.start : asked.start + PAGE_ROWS],
        "found": len(found),
        "step": PAGE_ROWS,
        "states": [(name, word, counts[name]) for name, word in STATES.items() if counts[name]],
        "key": key_of,
    }
    return show(
        request, "_trial_rows.html" if piece == "rows" else "rollout_trials.html", here="rollouts", **facts
    )


def _in_order(of: RolloutBenchmark) -> Iterator[TrialCell]:
    """Task by task, row by row, rollout by rollout."""
    for task in of.tasks:
        for row in of.rows:
            yield from of.trials.get((row.run, task.id), ())


def key_of(cell: TrialCell) -> str:
    return f"{cell.run}/{cell.rollout}/{cell.task}"


def _named(key: str) -> tuple[str, int, str]:
    """Raises: ConfigError."""
    found = TRIAL.fullmatch(key)
    if found is None:
        raise ConfigError(
            f"{key[:60]!r} names no trial: give its run, its rollout and its task, as RUN/0/mend"
        )
    return found[1], int(found[2]), found[3]


def _pane(context: Context, of: RolloutBenchmark, key: str) -> dict[str, Any]:
    run, rollout, task = _named(key)
    found = trial.one_trial(context, TrialName(of.id, run, task, rollout))
    record = found.record
    return {
        "key": key,
        "found": found,
        "cell": found.cell,
        "record": record,
        "cure": cure_of(found),
        "ends": ENDS,
        "same": same_task(of, found.cell),
        "steps": record.steps[-STEPS:] if record else (),
        "long": LONG,
        "failing": [(name, test) for name, test in record.tests.items() if not test.passed] if record else [],
    }


@ROUTER.post("/rollouts/{ident}/picked/export")
def export_picked(context: OpenContext, user: Reader, ident: Ident, form: Filling) -> Response:
    """The trials that are ticked, a line of JSON each."""
    names = [_named(str(each)) for each in dict.fromkeys(form.getlist("pick"))]
    if not 0 < len(names) <= MOST_PICKED:
        raise ConfigError(f"Tick 1 to {MOST_PICKED} trials; {len(names)} are ticked")
    runs = {run.id: run for run in benchmark.runs_of(context, ident)}

    def lines() -> Iterator[str]:
        for run_id in dict.fromkeys(name[0] for name in names if name[0] in runs):
            keys = [(task, rollout) for run, rollout, task in names if run == run_id]
            run = job_states.run_of(context, run_id)
            yield from export_rows(context, run, chosen(context, run_id, keys), "jsonl")

    return StreamingResponse(lines(), media_type="application/x-ndjson", headers=file_headers("trials.jsonl"))
