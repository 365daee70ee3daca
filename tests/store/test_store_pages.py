"""Pages of a run's results: nothing lost or doubled under any filter, and a search that ends where it is told to."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from store_examples import NOW, answered, claimed, failed, keep_all

from postgres_server import Postgres
from proctor.errors import NotFound
from proctor.store import AttemptRow, Store
from proctor.store.read import pages
from proctor.store.read.pages import FEW, IDS_LOOKED_THROUGH, LOOKED_THROUGH, Cursor, Filter
from proctor.store.write import notes
from proctor.store.write.notes import Note
from proctor.types import Attempt, Gold, Outcome, Run

Key = tuple[int, int]  # (position, repeat), the order of every page


def key(row: AttemptRow) -> Key:
    return row.position, row.repeat


def walked(store: Store, run: Run, wanted: Filter, *, limit: int = 3) -> list[AttemptRow]:
    """All rows, page after page; every page but those of a search is full or the last."""
    found: list[AttemptRow] = []
    after: Cursor | None = None
    for _ in range(200):
        page = pages.page(store, run.id, wanted, after=after, limit=limit)
        assert len(page.rows) <= limit
        assert page.after is None or page.searched_to is not None or len(page.rows) == limit
        found += page.rows
        after = page.after
        if after is None:
            return found
    raise AssertionError("the pages do not come to an end")


def both_ways(store: Store, run: Run, wanted: Filter, *, limit: int = 3) -> list[Key]:
    """The keys of all rows, the same forth and back."""
    forth = [key(row) for row in walked(store, run, wanted, limit=limit)]
    back = [key(row) for row in walked(store, run, replace(wanted, descending=True), limit=limit)]
    assert forth == sorted(forth)
    assert back == forth[::-1]
    return forth


OUTCOMES = (
    Outcome.CORRECT,
    Outcome.WRONG,
    Outcome.NO_ANSWER,
    Outcome.REFUSED,
    Outcome.TRUNCATED,
    Outcome.ANSWERED,
)
TASKS = ("boolq", "rte", "copa")
PLACES = 36


def outcome_at(place: int, repeat: int) -> Outcome:
    return OUTCOMES[(place * 5 + repeat) % len(OUTCOMES)]


def attempts() -> list[Attempt]:
    """36 items asked twice; every seventh failed at its second asking, every ninth succeeded after an error."""
    made: list[Attempt] = []
    for place in range(PLACES):
        group = TASKS[place % 3]
        for repeat in range(2):
            tried = answered(place, outcome=outcome_at(place, repeat), repeat=repeat, group=group)
            if place % 7 == 0 and repeat:
                lost = failed(place, repeat=repeat)
                tried = replace(lost, item=tried.item)
            if place % 9 == 0:
                made.append(replace(failed(place, repeat=repeat), item=tried.item))
                tried = replace(tried, attempt=1)
            made.append(tried)
    random.Random(6).shuffle(made)
    return made


@pytest.fixture
def run(store: Store) -> Run:
    run = claimed(store, 2 * PLACES)
    keep_all(store, run, *attempts())
    return run


def expected(true: Callable[[int, int, Outcome], bool]) -> list[Key]:
    """What the pages are to hold, from the attempts themselves: the last at each asking."""
    last: dict[Key, Attempt] = {}
    for attempt in sorted(attempts(), key=lambda a: a.attempt):
        last[attempt.position, attempt.repeat] = attempt
    return [place for place in sorted(last) if true(*place, last[place].grade.outcome)]


@pytest.mark.parametrize("limit", [1, 2, 7, 71, 72, 500])
def test_no_row_is_lost_or_doubled_at_any_length_of_page(store: Store, run: Run, limit: int) -> None:
    assert both_ways(store, run, Filter(), limit=limit) == expected(lambda *_: True)


def test_the_last_attempt_stands(store: Store, run: Run) -> None:
    rows = {key(row): row for row in walked(store, run, Filter(), limit=50)}
    assert rows[9, 0].attempt == 1
    assert rows[9, 0].outcome is outcome_at(9, 0)
    assert rows[7, 1].outcome is Outcome.ERROR
    assert not [row for row in rows.values() if row.outcome is Outcome.ERROR and row.position % 7]


SHOWN = {
    "wrong": {Outcome.WRONG},
    "errors": {Outcome.ERROR},
    "truncated": {Outcome.TRUNCATED},
    "no_answer": {Outcome.NO_ANSWER, Outcome.REFUSED},
}


def test_every_choice_of_what_to_show_is_tested() -> None:
    assert set(SHOWN) == set(pages.OUTCOMES)


@pytest.mark.parametrize("show", SHOWN)
def test_show_leaves_its_outcomes(store: Store, run: Run, show: str) -> None:
    found = both_ways(store, run, Filter(show))
    assert found == expected(lambda _p, _r, outcome: outcome in SHOWN[show])
    assert found


@pytest.mark.parametrize("task", [*TASKS, "no such task", "boolq' OR 1=1 --"])
def test_a_task_leaves_its_rows(store: Store, run: Run, task: str) -> None:
    found = both_ways(store, run, Filter(task=task))
    assert found == expected(lambda place, _r, _o: TASKS[place % 3] == task)


@pytest.mark.parametrize("outcome", list(Outcome))
@pytest.mark.parametrize("show", ["all", "no_answer"])
def test_task_outcome_and_show_together(store: Store, run: Run, outcome: Outcome, show: str) -> None:
    found = both_ways(store, run, Filter(show, outcome=outcome.value, task="rte"))
    shown = SHOWN.get(show, set(Outcome))
    assert found == expected(lambda place, _r, had: place % 3 == 1 and had is outcome and had in shown)


def test_flagged_are_the_askings_with_a_flag_in_this_run(store: Store, run: Run) -> None:
    other = claimed(store, 1)
    keep_all(store, other, answered(1, group="rte"))
    for run_id, place, repeat, flag in (
        (run.id, 1, 0, True),
        (run.id, 4, 1, True),
        (run.id, 4, 1, True),  # flagged twice, shown once
        (run.id, 10, 0, False),
        (other.id, 13, 0, True),
    ):
        notes.add(store, run_id, Note(0, f"rte/{place}", repeat, "ann", NOW, flag, "see"))
    assert both_ways(store, run, Filter("flagged"), limit=1) == [(1, 0), (4, 1)]
    assert both_ways(store, run, Filter("flagged", task="boolq")) == []


# Ids that a pattern or a collation would take for others; the sign for each is its place.
ODD_IDS = (
    "a/1", "a/10", "a/2", "a%/1", "a_/1", "aX/1", "A/1", "it's/1", 'say "x"/1', "[a]*/1", "é/1", "e/1",
    "日本/1", "日/1", "😀/1", "😀x/1", "a-b/1", "ab/1", "a b/1", "\\/1", "ÿ/1", "zz/1",
)  # fmt: skip
BEGINNINGS = (
    "a", "a/", "a/1", "a%", "a_", "A", "it's", 'say "', "[a]", "é", "e", "日", "日本", "😀", "a-", "ab",
    "a ", "\\", "%", "_", "ÿ", "z", "nothing begins so", "a/1'; DROP TABLE attempt; --", "\U0010ffff",
)  # fmt: skip


def odd_run(store: Store) -> Run:
    run = claimed(store, len(ODD_IDS))
    tried = [answered(place) for place in range(len(ODD_IDS))]
    named = [replace(a, item=replace(a.item, id=ODD_IDS[a.position])) for a in tried]
    keep_all(store, run, *named)
    return run


def test_the_beginning_of_an_id_is_taken_as_it_is_written(store: Store) -> None:
    odd = odd_run(store)
    for beginning in BEGINNINGS:
        found = [ODD_IDS[position] for position, _ in both_ways(store, odd, Filter(item_id=beginning))]
        assert found == [name for name in ODD_IDS if name.startswith(beginning)], beginning


def said(place: int, answer: str, **more: int) -> Attempt:
    attempt = answered(place, **more)
    return replace(attempt, grade=replace(attempt.grade, answer=answer))


# Positions may have gaps, so a run that a search cannot see at once needs few rows.
FAR = (
    0,
    5,
    LOOKED_THROUGH - 1,
    LOOKED_THROUGH,
    LOOKED_THROUGH + 1,
    3 * LOOKED_THROUGH + 7,
    5 * LOOKED_THROUGH,
)


@pytest.fixture
def wide(store: Store) -> Run:
    run = claimed(store, 2 * len(FAR))
    keep_all(
        store,
        run,
        *(
            said(place, f"Needle {n}" if n % 2 == 0 else "hay", repeat=r)
            for n, place in enumerate(FAR)
            for r in (0, 1)
        ),
    )
    return run


@pytest.mark.parametrize("limit", [1, 2, 3, 50])
def test_a_search_followed_to_its_end_finds_everything_once(store: Store, wide: Run, limit: int) -> None:
    needles = [(place, repeat) for place in FAR[::2] for repeat in (0, 1)]
    assert both_ways(store, wide, Filter(text="needle"), limit=limit) == needles
    assert both_ways(store, wide, Filter(text="nowhere"), limit=limit) == []


@pytest.mark.parametrize("descending", [False, True])
def test_a_search_looks_through_so_much_and_says_how_far_it_came(
    store: Store, wide: Run, descending: bool
) -> None:
    page = pages.page(store, wide.id, Filter(text="nowhere", descending=descending))
    assert page.rows == ()
    assert page.searched_to == (4 * LOOKED_THROUGH if descending else LOOKED_THROUGH)
    assert page.after is not None


def test_a_search_that_saw_all_says_that_it_is_over(store: Store, run: Run) -> None:
    page = pages.page(store, run.id, Filter(text="nowhere"))
    assert (page.rows, page.after, page.searched_to) == ((), None, None)


def test_a_search_reads_answers_and_targets_as_they_are_written(store: Store) -> None:
    run = claimed(store, 8)
    answers = ["50 %", "50 x", "a_b", "aXb", "It's", 'say "no"', "naïve 日本", "back\\slash"]
    kept = [said(place, answer) for place, answer in enumerate(answers)]
    kept[0] = replace(kept[0], item=replace(kept[0].item, gold=Gold("the target")))
    keep_all(store, run, *kept)
    for text, places in {
        "50 %": [0], "a_b": [2], "IT'S": [4], 'Y "N': [5], "日": [6], "\\s": [7], "THE TARGET": [0], "%": [0],
    }.items():  # fmt: skip
        assert [p for p, _ in both_ways(store, run, Filter(text=text))] == places, text


def test_a_search_keeps_to_the_other_filters(store: Store, wide: Run) -> None:
    keep_all(store, wide, replace(said(9, "needle"), item=replace(said(9, "").item, group="rte")))
    assert both_ways(store, wide, Filter(task="rte", text="needle")) == [(9, 0)]
    assert both_ways(store, wide, Filter("wrong", text="needle")) == []


@pytest.mark.parametrize(
    "wanted", [Filter(), Filter("wrong"), Filter(task="rte"), Filter(task="rte", outcome="correct")]
)
def test_neighbours_are_the_rows_before_and_after_under_the_filter(
    store: Store, run: Run, wanted: Filter
) -> None:
    for ordered in (wanted, replace(wanted, descending=True)):
        rows = walked(store, run, ordered, limit=50)
        assert len(rows) > 2
        for n, row in enumerate(rows):
            before, after = pages.neighbours(store, run.id, row, ordered)
            assert before == (rows[n - 1] if n else None)
            assert after == (rows[n + 1] if n + 1 < len(rows) else None)


def test_a_row_that_the_filter_hides_has_neighbours_that_it_shows(store: Store, run: Run) -> None:
    (hidden,) = [row for row in walked(store, run, Filter(), limit=99) if key(row) == (18, 0)]
    wrong = both_ways(store, run, Filter("wrong"))
    assert (18, 0) not in wrong
    before, after = pages.neighbours(store, run.id, hidden, Filter("wrong"))
    assert before is not None
    assert after is not None
    assert key(before) == max(place for place in wrong if place < (18, 0))
    assert key(after) == min(place for place in wrong if place > (18, 0))


def test_attempts_at_one_asking_the_last_first(store: Store, run: Run) -> None:
    found = pages.attempts_of(store, run.id, "boolq/9", 1)
    assert [(row.attempt, row.outcome) for row in found] == [(1, outcome_at(9, 1)), (0, Outcome.ERROR)]
    assert pages.attempts_of(store, run.id, "boolq/9", 2) == []
    assert pages.attempts_of(store, run.id, "no such item", 0) == []


def test_a_run_without_rows_has_one_empty_page(store: Store) -> None:
    run = claimed(store)
    for wanted in (Filter(), Filter(text="x"), Filter("flagged"), Filter(item_id="b", descending=True)):
        page = pages.page(store, run.id, wanted)
        assert (page.rows, page.after) == ((), None)


def test_an_unknown_run_is_not_found(store: Store) -> None:
    with pytest.raises(NotFound):
        pages.page(store, "nothing", Filter())
    with pytest.raises(NotFound):
        pages.attempts_of(store, "nothing", "boolq/1", 0)


def test_the_beginning_of_an_id_means_the_same_where_the_database_sorts_as_people_do(
    postgres: Postgres,
) -> None:
    name = postgres.new_database()
    postgres.drop(name)
    postgres.run(f"CREATE DATABASE {name} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'")
    store = Store.open(postgres.url(name))
    run = odd_run(store)
    for beginning in BEGINNINGS:
        found = [ODD_IDS[position] for position, _ in both_ways(store, run, Filter(item_id=beginning))]
        assert found == [each for each in ODD_IDS if each.startswith(beginning)], beginning
    store.close()
    postgres.drop(name)


def test_a_beginning_that_many_ids_share_is_followed_to_the_end_too(store: Store) -> None:
    """More than are sorted at once: the run is walked in its order, so much at a time."""
    places = [*range(FEW + 2), 2 * IDS_LOOKED_THROUGH]
    run = claimed(store, len(places))
    keep_all(store, run, answered(1, repeat=1, group="rte"), *(answered(place) for place in places))
    assert both_ways(store, run, Filter(item_id="boolq/"), limit=2000) == [(place, 0) for place in places]
    page = pages.page(store, run.id, Filter(item_id="boolq/", task="boolq", text="nowhere"))
    assert (page.rows, page.searched_to) == ((), LOOKED_THROUGH)
