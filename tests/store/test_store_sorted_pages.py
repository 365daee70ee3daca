"""Pages of results sorted by what was measured: nothing lost or doubled, those without a value last, bounded."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from store_examples import answered, claimed, failed, keep_all

from proctor.store import AttemptRow, Store
from proctor.store.read import sorted_pages
from proctor.store.read.pages import Filter
from proctor.store.read.sorted_pages import (
    COMPARED_THROUGH,
    MEASURES,
    SORTED_THROUGH,
    SORTS,
    SortedPlace,
    Sorting,
    sorted_page,
)
from proctor.types import Attempt, Outcome, Run

PLACES = 40
Key = tuple[int, int]


def key(row: AttemptRow) -> Key:
    return row.position, row.repeat


def attempts() -> list[Attempt]:
    """40 items asked twice with few values, so that many are alike; some were not measured, some succeeded later."""
    made: list[Attempt] = []
    for place in range(PLACES):
        for repeat in range(2):
            outcome = (Outcome.CORRECT, Outcome.WRONG, Outcome.NO_ANSWER)[(place + repeat) % 3]
            figures = {
                "latency_s": None if place % 5 == 4 else (place * 7 % 6) / 4,
                "output_tokens": place * 3 % 4 if place % 7 else None,
            }
            tried = answered(
                place, outcome=outcome, repeat=repeat, group=("boolq", "rte")[place % 2], **figures
            )
            if place % 11 == 0:
                lost = failed(place, repeat=repeat)
                made.append(replace(lost, item=tried.item))
                tried = replace(tried, attempt=1)
            made.append(
                tried if place % 13 else replace(failed(place, repeat=repeat, attempt=1), item=tried.item)
            )
    return made


@pytest.fixture
def run(store: Store) -> Run:
    run = claimed(store, 2 * PLACES)
    keep_all(store, run, *attempts())
    return run


def walked(
    store: Store, run: Run, wanted: Filter, sorting: Sorting, *, limit: int = 7, back: bool = False
) -> list[AttemptRow]:
    """All rows, page after page, forth or back; what is read backwards is in the order of the list too."""
    found: list[AttemptRow] = []
    after: SortedPlace | None = None
    for _ in range(100):
        page = sorted_page(store, run.id, wanted, sorting, after=after, back=back, limit=limit)
        assert len(page.rows) <= limit and page.looked_at is None
        found = [*page.rows, *found] if back else [*found, *page.rows]
        after = page.first if back else page.last
        if not page.more:
            return found
    raise AssertionError("the pages do not come to an end")


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("by", ["latency", "tokens", "score"])
@pytest.mark.parametrize(
    "wanted", [Filter(), Filter("wrong"), Filter("no_answer", task="rte"), Filter(item_id="rte/1")]
)
def test_no_row_is_lost_or_doubled_and_those_without_a_value_are_last(
    store: Store, run: Run, by: str, descending: bool, wanted: Filter
) -> None:
    sorting = Sorting(by, descending)  # type: ignore[arg-type]  # the three are of the four
    forth = walked(store, run, wanted, sorting)
    assert forth == walked(store, run, wanted, sorting, back=True)
    assert forth == walked(store, run, wanted, sorting, limit=1)
    rows = {key(row): row for row in store.latest(run.id)}
    shown = {"wrong": {Outcome.WRONG}, "no_answer": {Outcome.NO_ANSWER, Outcome.REFUSED}}.get(
        wanted.show, set(Outcome)
    )
    assert {key(row) for row in forth} == {
        place
        for place, row in rows.items()
        if row.outcome in shown
        and wanted.task in (None, row.task)
        and row.item_id.startswith(wanted.item_id or "")
    }
    values = [getattr(row, MEASURES[by]) for row in forth]
    known = [value for value in values if value is not None]
    assert values == [*sorted(known, reverse=descending), *[None] * (len(values) - len(known))]
    for one, other in pairwise(forth):
        if getattr(one, MEASURES[by]) == getattr(other, MEASURES[by]):
            assert key(one) < key(other), "among equals the order of asking stands"


def test_disagreement_is_the_share_of_other_runs_whose_outcome_is_another(store: Store) -> None:
    said = {
        "mine": [Outcome.CORRECT, Outcome.CORRECT, Outcome.WRONG, Outcome.ERROR, Outcome.CORRECT],
        "a": [Outcome.CORRECT, Outcome.WRONG, Outcome.CORRECT, Outcome.CORRECT, Outcome.ERROR],
        "b": [Outcome.CORRECT, Outcome.CORRECT, Outcome.NO_ANSWER, Outcome.WRONG, Outcome.WRONG],
    }
    runs = {name: claimed(store, 5) for name in said}
    for name, outcomes in said.items():
        tried = [
            failed(n) if each is Outcome.ERROR else answered(n, outcome=each)
            for n, each in enumerate(outcomes)
        ]
        # A run that once failed and answered later counts by its answer.
        tried += [failed(0)] if name == "b" else []
        tried = [replace(each, attempt=1) if name == "b" and n == 0 else each for n, each in enumerate(tried)]
        keep_all(store, runs[name], *tried)
    others = (runs["a"].id, runs["b"].id)
    page = sorted_page(store, runs["mine"].id, Filter(), Sorting("differ", True, others), limit=10)
    # All two, the one that answered, one of two, none of two; what has no outcome of its own disagrees with nobody.
    assert [row.position for row in page.rows] == [2, 4, 1, 0, 3]
    counted = sorted_pages.disagreement(store, others, page.rows)
    assert [counted.get((row.item_id, 0)) for row in page.rows] == [(2, 2), (1, 1), (1, 2), (0, 2), None]


def test_so_many_rows_are_put_in_order_and_no_more(store: Store) -> None:
    """A run that is said to have more rows than one look may take: the page says how many were looked at."""
    run = claimed(store, SORTED_THROUGH + 1)
    keep_all(store, run, *(answered(place, latency_s=float(place % 4)) for place in range(6)))
    everything = sorted_page(store, run.id, Filter(), Sorting("latency"), limit=10)
    assert (len(everything.rows), everything.looked_at) == (6, None), "all its rows fit into one look"
    assert sorted_page(store, run.id, Filter(text="A"), Sorting("latency")).looked_at == SORTED_THROUGH
    many = Sorting("differ", False, tuple(f"run {n}" for n in range(8)))
    assert many.through == COMPARED_THROUGH // 8 < SORTED_THROUGH


def test_every_order_is_tested() -> None:
    assert set(SORTS) == {*MEASURES, "differ"}
