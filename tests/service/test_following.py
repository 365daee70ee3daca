"""A run at work as its page follows it: counted once and extended, it always says what all rows say."""

from __future__ import annotations

import time
from random import Random

import pytest

from opened import over
from proctor.manifest import ExamFacts, Manifest, TaskSpec
from proctor.references import ExamRef
from proctor.service.watch import following as module
from proctor.service.watch.following import RunCount, following
from proctor.store import AttemptWriter, Store
from proctor.store.write.looks import moments
from proctor.types import (
    Attempt,
    Cell,
    Chat,
    Failure,
    Gold,
    Grade,
    Item,
    Limits,
    Message,
    Model,
    Outcome,
    Plan,
    Reply,
    Run,
    Shard,
)

TASK = TaskSpec("Q", "choices", ("accuracy",), asked=60)
OPENED = Manifest(ExamFacts(tasks={"q": TASK}, aggregate="micro"), proctor="1")
PLANNED = 60


def begun(store: Store, planned: int = PLANNED, **limits: object) -> Run:
    cell = Cell(Model("ollama", "m"), ExamRef("suite", "sums"), limits=Limits(**limits))  # type: ignore[arg-type]  # by name
    plan = store.add_plan(Plan((cell,)), now=time.time())
    run = store.add_run(
        plan, cell, source_title="sums", planned=planned, manifest=OPENED, comparability=None,
        sample=False, now=time.time(),
    )  # fmt: skip
    return store.claim(run.id, owner="me", now=time.time(), lease_s=600)


def attempt(place: int, *, right: bool = True, failed: bool = False, number: int = 0) -> Attempt:
    item = Item(f"q/{place}", "q", Chat((Message("user", f"What is {place}?"),)), Gold("A"), hash=f"h{place}")
    if failed:
        return Attempt(
            item, place, 0, number, float(place), Grade(Outcome.ERROR, None), None, Failure("network", "gone")
        )
    grade = Grade(Outcome.CORRECT if right else Outcome.WRONG, float(right), "A", 1)
    return Attempt(item, place, 0, number, 1000.0 + place, grade, Reply("A"))


def keep(store: Store, run: Run, attempts: list[Attempt]) -> None:
    with AttemptWriter(store, run.id, owner="me") as keeper:
        for each in attempts:
            keeper.keep(each)


def look(count: RunCount, store: Store, run: Run) -> module.SoFar:
    """A look that finds the last one too old."""
    count.made = None
    return count.look(store, store.run(run.id))


@pytest.mark.parametrize("seed", range(4))
def test_however_items_end_a_count_that_is_extended_is_one_from_the_beginning(
    store: Store, seed: int
) -> None:
    run, random = begun(store), Random(seed)
    # Items end up to 20 places out of order, as with many requests under way.
    order = sorted(range(PLANNED), key=lambda place: place + 20 * random.random())
    count = RunCount()
    while order:
        some = [order.pop(0) for _ in range(min(len(order), random.randint(1, 9)))]
        keep(store, run, [attempt(place, right=random.random() < 0.7) for place in some])
        found, anew = look(count, store, run), RunCount().look(store, store.run(run.id))
        assert found.outcomes == anew.outcomes and found.points[-1:] == anew.points[-1:]
        assert [each.row for each in found.latest] == [each.row for each in anew.latest]
        tally = store.tally(run.id).outcomes
        assert dict(found.outcomes) == {name: n for name, n in tally.items() if n}
        assert sum(found.outcomes.values()) + found.to_come == PLANNED
        missing = [place for place in range(PLANNED) if place in order]
        assert not found.points or found.points[-1].items == min([*missing, PLANNED]), "up to the first gap"
    assert found.to_come == 0 and found.tasks[0].done == PLANNED


def test_an_item_that_is_asked_again_after_an_error_counts_by_its_last_attempt(store: Store) -> None:
    run, count = begun(store), RunCount()
    keep(store, run, [attempt(0), attempt(1, failed=True), attempt(2)])
    assert dict(look(count, store, run).outcomes) == {"correct": 2, "error": 1}
    keep(store, run, [attempt(1, number=1)])
    assert dict(look(count, store, run).outcomes) == {"correct": 3}


def test_a_part_of_a_run_has_no_gaps_where_others_ask(store: Store) -> None:
    run, count = begun(store, 30, shard=Shard(0, 2)), RunCount()
    keep(store, run, [attempt(place) for place in range(0, 20, 2)])
    found = look(count, store, run)
    assert (found.outcomes["correct"], found.points[-1].items, found.to_come) == (10, 10, 20)
    keep(store, run, [attempt(place) for place in range(20, 60, 2)])
    assert look(count, store, run).points[-1].items == 30


def test_the_latest_replies_come_with_the_beginning_of_their_question(store: Store) -> None:
    run = begun(store)
    keep(store, run, [attempt(place) for place in range(12)])
    found = RunCount().look(store, store.run(run.id))
    assert [each.row.item_id for each in found.latest] == [f"q/{place}" for place in range(11, 3, -1)]
    assert found.latest[0].question == "What is 11?"


def test_a_look_at_a_run_at_work_is_kept_as_one(store: Store) -> None:
    run = begun(store)
    keep(store, run, [attempt(0), attempt(1, right=False)])
    assert run.id not in moments(store, [run.id])
    found = following(over(store), store.run(run.id))
    assert found.now is not None and len(moments(store, [run.id])[run.id]) == 1
    following(over(store), store.run(run.id))
    assert len(moments(store, [run.id])[run.id]) == 1, "so far it was seen already"
