"""What is kept of looks at runs that are not whole, and of runs that were deleted."""

from __future__ import annotations

import time

import pytest
from store_examples import NOW, answered, claimed, keep_all, new_run

from proctor.store import Store
from proctor.store.admin.pruning import remove
from proctor.store.core.walls import Reach
from proctor.store.read.keyed import gone_runs
from proctor.store.write.looks import leave, moments
from proctor.types import Status


@pytest.mark.promise("X-07")
def test_a_look_is_one_for_each_count_of_settled_items(store: Store) -> None:
    run = claimed(store, 4)
    assert leave(store, [run.id], now=NOW) == 0, "there is nothing to be seen yet"
    keep_all(store, run, answered(0), answered(1))
    assert [leave(store, [run.id], now=NOW + at) for at in (1, 2)] == [1, 0]
    keep_all(store, run, answered(2))
    assert leave(store, [run.id], now=NOW + 3) == 1
    assert moments(store, [run.id, "no such run"]) == {run.id: (NOW + 1, NOW + 3)}


def test_a_run_that_stopped_early_may_go_on_and_is_looked_at_and_a_whole_one_is_not(store: Store) -> None:
    whole, stopped, lacking = claimed(store, 2), claimed(store, 3), claimed(store, 3)
    for run in (whole, stopped, lacking):
        keep_all(store, run, answered(0), answered(1))
        why = "after 1 minute" if run is stopped else None
        store.finish(run.id, Status.COMPLETED, owner="me", now=time.time(), elapsed_s=1.0, stopped=why)
    ids = [run.id for run in (whole, stopped, lacking)]
    assert leave(store, ids, now=NOW) == 1
    assert list(moments(store, ids)) == [stopped.id]


def test_looks_stay_behind_their_wall_and_go_with_their_run(store: Store) -> None:
    run = claimed(store, 4)
    keep_all(store, run, answered(0))
    strange = store.within(Reach(frozenset({7})))
    assert leave(strange, [run.id], now=NOW) == 0
    assert leave(store.within(Reach(frozenset({1}))), [run.id], now=NOW) == 1
    assert moments(strange, [run.id]) == {} and len(moments(store, [run.id])) == 1
    store.finish(run.id, Status.CANCELLED, owner="me", now=NOW, elapsed_s=1.0)
    assert remove(store, [run.id]) == [run.id]
    assert moments(store, [run.id]) == {}


@pytest.mark.promise("X-07")
def test_a_deleted_run_leaves_behind_that_it_was_there(store: Store) -> None:
    facts = {"comparability": "alike", "exam": "the very same"}
    scored = store.claim(new_run(store, 2, **facts).id, owner="me", now=time.time(), lease_s=600)
    keep_all(store, scored, answered(0), answered(1))
    store.finish(scored.id, Status.COMPLETED, owner="me", now=NOW, elapsed_s=1.0)
    empty = store.claim(new_run(store, 2, **facts).id, owner="me", now=time.time(), lease_s=600)
    store.finish(empty.id, Status.CANCELLED, owner="me", now=NOW, elapsed_s=1.0)
    assert len(remove(store, [scored.id, empty.id])) == 2
    (left,) = gone_runs(store, {1}, {"alike"})
    assert (left.full_model, left.exam) == (str(scored.cell.model), "the very same")
    assert gone_runs(store, {2}, {"alike"}) == gone_runs(store, {1}, {"another"}) == []
    assert gone_runs(store.within(Reach(frozenset({7}))), {1}, {"alike"}) == []
