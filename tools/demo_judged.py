"""Open questions that two models answered, a judge graded and somebody labelled, for the demo's store and for tests."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from proctor.references import ExamRef
from proctor.service.context import Context
from proctor.service.judges.wanted import JudgingWanted, judging_plan
from proctor.service.labelling.queue import queue
from proctor.service.labelling.taken_in import take_in
from proctor.service.labelling.wish import LabelWish
from proctor.service.labelling.written import open_csv
from proctor.service.runs.lifecycle import start
from proctor.types import Cell, Model, Plan

ABOUT = ("a refund", "a lost parcel", "a broken zip", "the wrong size", "a late delivery", "a double charge")
JUDGE = "simulator/judge-95"
LABELLER = "ada"
NAME = "support-replies.jsonl"


@dataclass(frozen=True, slots=True)
class DemoJudged:
    """Ids of the two judged runs, the better one first."""

    first: str
    second: str


def questions(count: int) -> str:
    """As JSON lines: what a customer asks, and in a whole sentence what a good answer says."""
    return "".join(json.dumps(each) + "\n" for each in _rows(count))


def _rows(count: int) -> Iterator[dict[str, str]]:
    for number in range(count):
        about = ABOUT[number % len(ABOUT)]
        yield {
            "id": f"case-{number:03}",
            "question": f"Customer {number} writes about {about}. What do we reply?",
            "answer": f"We are sorry about {about}; case {number} is open, and a colleague writes back "
            f"within {number % 5 + 1} working days with a proposal.",
        }


def judged_runs(context: Context, folder: Path, *, count: int = 100, labels: int = 60) -> DemoJudged:
    """Two models asked, both judged, and so many items labelled of both as somebody does who knows what is right."""
    path = folder / NAME
    path.write_text(questions(count))
    models = (Model("simulator", "sim"), Model("simulator", "sim-small"))
    runs = [
        _started(context, Plan((Cell(model, ExamRef("file", str(path))),), name=NAME)) for model in models
    ]
    _started(context, judging_plan(context, JudgingWanted(tuple(runs), (JUDGE,))))
    if labels:
        label_all(context, tuple(runs), labels)
    return DemoJudged(*runs)


def _started(context: Context, plan: Plan) -> str:
    outcome = start(context, plan)
    assert outcome.evaluation is not None, outcome.error
    return outcome.evaluation.results[0].run.id


def label_all(context: Context, runs: tuple[str, ...], items: int) -> None:
    """Every entry of the random part is labelled by the words of the good answer."""
    made = queue(context, LabelWish(runs, LABELLER, random=items))
    rows = list(csv.DictReader(io.StringIO("".join(open_csv(context, made)))))
    told = io.StringIO()
    writer = csv.DictWriter(told, list(rows[0]))
    writer.writeheader()
    for row in rows:
        says = " ".join(row["good_answer"].split()) in " ".join(row["reply"].split())
        writer.writerow({**row, "grade": "pass" if says else "fail"})
    take_in(context, made, "labels.csv", told.getvalue().encode())
