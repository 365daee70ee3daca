"""Agents' trials as what a judge reads: the task, the diff of the work, the agent's last words; and by which rubric.

All of it is in the store (a trial's patch is its reply, its record the reply's own words), so that trials of other
machines, and those whose folders are gone, are judged like any.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from proctor.references import Criterion, GradingRubric, RolloutsRef
from proctor.store import AttemptRow, Store
from proctor.trial_record import record_in
from proctor.types import Outcome, Run

NO_DIFF = "The agent changed no file: there is no diff."
NO_WORDS = "The agent said nothing at its end."
SOLVED = Criterion("solves", "Does the change do what the task asks for, and nothing that harms it?")
OF_TASKS = "tasks"  # the name of the rubric that a benchmark's own criteria make


def is_of_trials(run: Run) -> bool:
    return isinstance(run.cell.source, RolloutsRef)


def change_text(said: Mapping[str, Any]) -> str:
    """The last words of the agent, then its diff, from what the store keeps of a trial."""
    record = record_in(said)
    words = (record.final or "").strip() if record else ""
    told = f"The agent's last words:\n{words}" if words else NO_WORDS
    patch = str(said.get("text") or "").strip("\n")
    return f"{told}\n\n{f'The diff of its work:{chr(10)}{patch}' if patch.strip() else NO_DIFF}"


def own_rubric(store: Store, run: Run) -> GradingRubric:
    """By what a run's replies are judged where no rubric is given: the criteria of its tasks, or `correct`.

    A rubric of a task becomes a pass/fail criterion with its weight, which the trials of that task alone are asked
    about. Gates are left out: they say what must stay as it was, and give no points.
    """
    if not is_of_trials(run):
        return GradingRubric()
    criteria = tuple(_criteria(store, run))
    return GradingRubric(OF_TASKS, criteria) if criteria else GradingRubric("solves", (SOLVED,))


def _criteria(store: Store, run: Run) -> Iterator[Criterion]:
    told: set[str] = set()
    for row in store.latest(run.id):
        record = (
            None if row.item_id in told or row.outcome is Outcome.ERROR else record_in(_said(store, run, row))
        )
        if record is None:
            continue
        told.add(row.item_id)
        for ident, rubric in record.rubrics.items():
            if rubric.weight > 0 and not rubric.gate:
                name = f"{row.item_id} {ident}".replace(":", "-").replace(";", "-")
                yield Criterion(name, rubric.criterion, weight=rubric.weight, task=row.item_id)


def _said(store: Store, run: Run, row: AttemptRow) -> Mapping[str, Any]:
    return store.payload(run.id, row.item_id, row.repeat, row.attempt)
