"""Plans, runs and attempts for the tests of the store; and a program that keeps until it is killed."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

from proctor.manifest import UNOPENED
from proctor.references import ExamRef
from proctor.store import AttemptWriter, Store
from proctor.types import (
    Attempt,
    Cell,
    Chat,
    Failure,
    Gold,
    Grade,
    Item,
    Message,
    Model,
    Outcome,
    Plan,
    Reply,
    Run,
)

NOW = 1_800_000_000.0
CELL = Cell(Model("ollama", "qwen3:8b"), ExamRef("suite", "superglue"))


def new_run(store: Store, planned: int = 10, cell: Cell = CELL, now: float = NOW, **facts: Any) -> Run:
    plan_id = store.add_plan(Plan((cell,)), now=now)
    return add_run(store, plan_id, planned, cell, now, **facts)


def add_run(
    store: Store, plan_id: str, planned: int = 10, cell: Cell = CELL, now: float = NOW, **facts: Any
) -> Run:
    usual = {"source_title": "SuperGLUE", "manifest": UNOPENED, "comparability": None, "sample": False}
    return store.add_run(plan_id, cell, planned=planned, now=now, **{**usual, **facts})


def claimed(store: Store, planned: int = 10, owner: str = "me") -> Run:
    """A run that is `owner`'s by the wall clock, as AttemptWriter's leases are."""
    return store.claim(new_run(store, planned).id, owner=owner, now=time.time(), lease_s=600)


def item(place: int, group: str = "boolq") -> Item:
    prompt = f"Passage {place}. Is it so?"
    return Item(
        id=f"{group}/{place}",
        group=group,
        ask=Chat((Message("system", "Answer."), Message("user", prompt))),
        gold=Gold("A", ("Yes",)),
        choices=("yes", "no"),
        cluster=f"passage-{place // 2}",
        hash=hashlib.sha256(prompt.encode()).hexdigest()[:32],
    )


def answered(
    place: int,
    *,
    outcome: Outcome = Outcome.CORRECT,
    repeat: int = 0,
    attempt: int = 0,
    group: str = "boolq",
    text: str = "The answer is A.",
    **figures: Any,
) -> Attempt:
    score = {Outcome.CORRECT: 1.0, Outcome.WRONG: 0.0}.get(outcome)
    answer = None if score is None else "A"
    return Attempt(
        item=item(place, group),
        position=place,
        repeat=repeat,
        attempt=attempt,
        at=NOW + place,
        grade=Grade(outcome, score, answer, 1),
        reply=Reply(text, **figures),
    )


def failed(place: int, *, repeat: int = 0, attempt: int = 0, slug: str = "network") -> Attempt:
    return Attempt(
        item=item(place),
        position=place,
        repeat=repeat,
        attempt=attempt,
        at=NOW + place,
        grade=Grade(Outcome.ERROR, None),
        failure=Failure(slug, f"the {slug} gave way", retryable=True),
        retries=2,
    )


def keep_all(store: Store, run: Run, *attempts: Attempt, owner: str = "me") -> None:
    with AttemptWriter(store, run.id, owner=owner) as writer:
        for attempt in attempts:
            writer.keep(attempt)


def keep_until_killed(url: str, run_id: str, owner: str, dead_owner: str) -> None:
    """Keeps what is missing of a run; writes one line with a count for each commit, to be counted outside."""
    store = Store.open(url)
    run = store.claim(run_id, owner=owner, now=time.time(), lease_s=600, dead_owner=dead_owner)
    done = store.settled(run_id)
    tries = store.next_attempts(run_id)

    def told(kept: Sequence[Attempt]) -> None:
        os.write(1, f"{len(kept)}\n".encode())

    writer = AttemptWriter(store, run_id, owner=owner, batch=16, linger_s=0.01, on_commit=told)
    for place in range(run.planned):
        attempt = answered(place)
        key = (attempt.item.id, 0)
        if key not in done:
            writer.keep(answered(place, attempt=tries.get(key, 0)))
    writer.close()
    os.write(1, b"end\n")


if __name__ == "__main__":
    keep_until_killed(*sys.argv[1:])
