"""Runs with replies that a test wrote, straight in a store, and their labels."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence

from opened import over
from proctor.manifest import UNOPENED
from proctor.references import ExamRef, GradingRubric
from proctor.service.context import Context
from proctor.service.labelling.queue import LabelQueue, queue
from proctor.service.labelling.saying import put
from proctor.service.labelling.wish import LabelWish
from proctor.store import AttemptWriter, Store
from proctor.types import (
    Attempt,
    Cell,
    Chat,
    Gold,
    Grade,
    Item,
    Message,
    Model,
    Outcome,
    Plan,
    Reply,
    Run,
    Status,
)

RUBRIC = GradingRubric()


def run_of(store: Store, model: str, texts: Sequence[str], scores: Sequence[float] = ()) -> Run:
    """A run whose replies are these, to the same questions whoever answers; scores are 1 where none are given."""
    cell = Cell(Model("replay", model), ExamRef("file", "open.csv"))
    plan_id = store.add_plan(Plan((cell,)), now=1.0)
    run = store.add_run(
        plan_id,
        cell,
        source_title="open.csv",
        planned=len(texts) + 1,  # so that it can be gone on with
        manifest=UNOPENED,
        comparability=None,
        sample=False,
        now=1.0,
    )
    return keep(store, run, [attempt(n, text, scores[n] if scores else 1.0) for n, text in enumerate(texts)])


def keep(store: Store, run: Run, attempts: Sequence[Attempt]) -> Run:
    """The run when it has ended with these too."""
    store.claim(run.id, owner="me", now=time.time(), lease_s=600)
    with AttemptWriter(store, run.id, owner="me") as writer:
        for each in attempts:
            writer.keep(each)
    return store.finish(run.id, Status.COMPLETED, owner="me", now=time.time(), elapsed_s=1.0)


def attempt(place: int, text: str, score: float, number: int = 0) -> Attempt:
    question = f"What is asked in number {place}?"
    item = Item(
        f"q/{place}",
        "q",
        Chat((Message("user", question),)),
        Gold(f"answer {place}"),
        hash=hashlib.sha256(question.encode()).hexdigest()[:32],
    )
    outcome = Outcome.CORRECT if score == 1.0 else Outcome.WRONG
    grade = Grade(outcome, score, text[:20], grader="contains/1")
    return Attempt(item, place, 0, number, 1.0 + place, grade, Reply(text))


def queue_of(store: Store, *runs: Run, user: str = "ann", **wish: object) -> tuple[Context, LabelQueue]:
    context = over(store)
    return context, queue(context, LabelWish(tuple(run.id for run in runs), user, **wish))  # type: ignore[arg-type]  # as tests name them


def say(context: Context, made: LabelQueue, grades: Sequence[str], begin: int = 0) -> None:
    """These grades of the queue's entries, one after the other."""
    for entry, grade in zip(made.entries[begin:], grades, strict=False):
        put(context, made, entry.key, made.criteria[0].name, grade)


def asked(made: LabelQueue) -> list[str]:
    """Which items, in the order of the queue."""
    return [entry.place.row.item_id for entry in made.entries]
