"""History's list in the store, on each database: order, kinds, states, errors, days, and what wants attention."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import text
from store_examples import CELL, NOW, answered, keep_all, new_run

from proctor.findings import Estimate, Score
from proctor.findings.looks import DECIDED
from proctor.references import BatchRef, ExamRef, JudgingRef, RolloutsRef
from proctor.store import Store
from proctor.store.admin import access
from proctor.store.core.walls import Reach
from proctor.store.read import history
from proctor.store.read.history import Order, Searched
from proctor.store.read.lists import RunFilter
from proctor.types import Model, Run, Status

DAY_S = 86400.0


def ended(store: Store, model: str = "m", *, now: float = NOW, source: Any = None, **columns: Any) -> Run:
    """A complete run, with the columns changed as they are named; `value` is its headline."""
    value = columns.pop("value", None)
    cell = replace(CELL, model=Model("ollama", model), source=source or CELL.source)
    run = store.claim(new_run(store, 1, cell, now).id, owner="me", now=time.time(), lease_s=600)
    keep_all(store, run, answered(0))
    store.finish(run.id, Status.COMPLETED, owner="me", elapsed_s=columns.pop("elapsed_s", 1.0), now=now + 60)
    if value is not None:
        estimate = Estimate(value, 0.1, 0.0, 1.0, 9, 9, "x")
        store.put_scores(run.id, [Score("", "All", "score", estimate)])
    for name, given in columns.items():
        with store.writing() as connection:
            connection.execute(
                text(f"UPDATE run SET {name} = :given WHERE id = :id"), {"given": given, "id": run.id}
            )
    return run


def cost(dollars: float | None, errors: str = "{}") -> str:
    told = "null" if dollars is None else str(dollars)
    return f'{{"tally":{{"cost_usd":{told},"errors":{errors}}}}}'


def listed(store: Store, asked: Searched | None = None, **order: Any) -> list[str]:
    lines, _ = history.page(store, asked or Searched(), order=Order(**order))
    return [line.id for line in lines]


@pytest.mark.parametrize("by", ["model", "suite", "score", "duration", "cost"])
def test_a_list_is_sorted_either_way_and_what_has_no_value_comes_last(store: Store, by: str) -> None:
    names = {"model": ("a", "b", "c"), "suite": ("a", "b", "c")}
    made = [
        ended(
            store,
            model=names["model"][n] if by == "model" else "m",
            source=ExamRef("suite", names["suite"][n]) if by == "suite" else None,
            value=(0.1, 0.5, 0.9)[n],
            elapsed_s=float(n + 1),
            summary=cost(0.1 * n),
        ).id
        for n in (1, 0, 2)
    ]
    low, middle, high = made[1], made[0], made[2]
    assert listed(store, by=by, down=False) == [low, middle, high]
    assert listed(store, by=by) == [high, middle, low]
    if by in ("score", "cost"):
        bare = ended(store).id
        assert listed(store, by=by)[-1] == listed(store, by=by, down=False)[-1] == bare


def test_pages_of_a_sorted_list_lose_and_double_nothing(store: Store) -> None:
    runs = {ended(store, value=n / 10).id for n in range(5)}
    found: list[str] = []
    before = None
    while True:
        lines, before = history.page(store, Searched(), before=before, limit=2, order=Order("score"))
        found += [line.id for line in lines]
        if before is None:
            break
    assert len(found) == 5 and set(found) == runs


def test_by_time_pages_go_on_upwards_too(store: Store) -> None:
    runs = [ended(store).id for _ in range(3)]
    lines, before = history.page(store, Searched(), limit=2, order=Order(down=False))
    assert [line.id for line in lines] == runs[:2]
    lines, _ = history.page(store, Searched(), before=before, limit=2, order=Order(down=False))
    assert [line.id for line in lines] == runs[2:]


def test_runs_are_of_the_kind_that_their_cell_says_whatever_it_is_called(store: Store) -> None:
    odd = '"kind": "batch"'
    made = {
        "exam": ended(store, source=ExamRef("file", f"/x/{odd}.csv")).id,
        "batch": ended(store, source=BatchRef("/x/lines.jsonl")).id,
        "rollouts": ended(store, source=RolloutsRef(odd)).id,
        "judging": ended(store, source=JudgingRef(odd, "run")).id,
    }
    for kind, run in made.items():
        assert listed(store, Searched(kind=kind)) == [run], kind  # type: ignore[arg-type]  # a key of KIND_OF
    facts = history.facts(store, list(made.values()))
    assert {of.kind: run for run, of in facts.items()} == made
    assert {of.user for of in facts.values()} == {None}


def test_states_tell_the_partial_from_the_decided(store: Store) -> None:
    whole, partial = ended(store).id, ended(store, planned=5).id
    decided = ended(store, planned=5, stopped=f"{DECIDED}: a is better than b, after 1 of 5 items").id
    failed = ended(store, status="failed").id
    wanted = {
        "completed": {whole, decided},
        "partial": {partial},
        "decided": {decided},
        "failed": {failed},
        "attention": {failed, partial},
    }
    for state, runs in wanted.items():
        assert set(listed(store, Searched(state=state))) == runs, state
    assert history.counts(store, Searched()) == {"completed": 1, "partial": 1, "decided": 1, "failed": 1}
    lines, _ = history.page(store, Searched(state="decided"))
    assert lines[0].decided and lines[0].partial, "it can still be asked for the rest"


def test_errors_are_those_of_items_and_of_runs(store: Store) -> None:
    ended(store, summary=cost(None))
    ended(store, planned=3, summary=cost(None))
    lost = ended(store, planned=3, summary=cost(None, '{"network":2}')).id
    broken = ended(store, error="it broke").id
    assert set(listed(store, Searched(errors=True))) == {lost, broken}


def test_days_are_from_a_moment_until_before_another(store: Store) -> None:
    runs = [ended(store, now=NOW + n * DAY_S).id for n in range(3)]
    asked = Searched(RunFilter(since=NOW + DAY_S), until=NOW + 2 * DAY_S)
    assert listed(store, asked) == [runs[1]]
    assert listed(store, Searched(ids=(runs[0], runs[2]))) == [runs[2], runs[0]]


def test_what_wants_attention_ended_since_then_or_lies_killed(store: Store) -> None:
    ended(store, status="failed", now=NOW - 2 * DAY_S)
    ended(store, now=NOW)
    failed = ended(store, status="failed", now=NOW - 600).id
    partial = ended(store, planned=4, now=NOW).id
    run = new_run(store, 3)
    store.claim(run.id, owner="elsewhere", now=NOW - 7200, lease_s=60)
    alive = new_run(store, 3)
    store.claim(alive.id, owner="elsewhere", now=NOW, lease_s=600)
    lines, total = history.troubled(store, Searched(now=NOW + 300), NOW - DAY_S)
    assert {line.id for line in lines} == {failed, partial, run.id} and total == 3
    lines, total = history.troubled(store, Searched(now=NOW + 300), NOW - DAY_S, limit=1)
    assert len(lines) == 1 and total == 3


def test_a_source_for_the_first_page_is_the_newest_that_has_a_score(store: Store) -> None:
    assert history.latest_scored(store, Searched()) is None
    ended(store, source=ExamRef("suite", "scored"), value=0.5)
    ended(store, source=ExamRef("suite", "bare"), now=NOW + 60)
    ended(store, source=ExamRef("suite", "partial"), value=0.5, planned=9, now=NOW + 120)
    assert history.latest_scored(store, Searched()) == "scored"


def test_lists_keep_within_the_walls(store: Store) -> None:
    """Every new statement can be held to projects, and then shows theirs alone."""
    theirs = access.add_project(store, "theirs", now=NOW).id
    mine, other = ended(store, value=0.5, status="failed").id, ended(store, value=0.6, status="failed").id
    with store.writing() as connection:
        connection.execute(text("UPDATE run SET project_id = :p WHERE id = :id"), {"p": theirs, "id": other})
    within = store.within(Reach(frozenset({1})))
    for by in ("time", "model", "suite", "status", "score", "duration", "cost"):
        assert listed(within, by=by) == [mine], by
    assert set(history.facts(within, [mine, other])) == {mine}
    assert [line.id for line in history.troubled(within, Searched(now=NOW), 0.0)[0]] == [mine]
    assert history.users(within) == [] and history.counts(within, Searched(user="ann")) == {}
    assert history.latest_scored(within, Searched()) is None
