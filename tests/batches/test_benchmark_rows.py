"""Rows of a batch: paged, filtered, ordered, searched, while it is at work and afterwards; labels beside them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from rows_made import FRUIT, attempt_at, batch_of, context_of

from proctor.errors import ConfigError, Conflict, NotFound
from proctor.service.admin import prune
from proctor.service.batches import labels, results
from proctor.service.batches.find import files, select
from proctor.service.batches.labels import LabelMark
from proctor.service.batches.results import RowFilter
from proctor.service.context import Context
from proctor.store import Store
from proctor.store.read.batches import files as batch_files
from proctor.types import Attempt, Outcome, Run

ROWS = 120
Holds = Callable[[Attempt], bool]


def said(of: Attempt) -> str:
    told = of.reply.text if of.reply else of.failure.message if of.failure else ""
    return f"{of.item.ask.messages[0].content} {told}".casefold()


def words(text: str) -> set[str]:
    return set("".join(sign if sign.isalnum() else " " for sign in text).split())


def latency(of: Attempt) -> float:
    return (of.reply.latency_s if of.reply else None) or -1.0


FILTERS: dict[str, tuple[RowFilter, Holds]] = {
    "all": (RowFilter(), lambda of: True),
    "answered": (RowFilter(status="answered"), lambda of: of.failure is None),
    "failed": (RowFilter(status="failed"), lambda of: of.failure is not None),
    "a class": (RowFilter(status="4xx"), lambda of: bool(of.failure and of.failure.status)),
    "a code": (RowFilter(status="429"), lambda of: bool(of.failure and of.failure.status)),
    "another code": (RowFilter(status="404"), lambda of: False),
    "no answer over HTTP": (RowFilter(status="none"), lambda of: bool(of.failure and not of.failure.status)),
    "an outcome": (RowFilter(status="truncated"), lambda of: of.grade.outcome is Outcome.TRUNCATED),
    "an error": (RowFilter(status="network"), lambda of: bool(of.failure and of.failure.slug == "network")),
    "a finish": (RowFilter(finish="length"), lambda of: bool(of.reply and of.reply.finish == "length")),
    "tokens": (
        RowFilter(output_tokens=(20, 30), input_tokens=(None, 40)),
        lambda of: bool(
            of.reply and 20 <= (of.reply.output_tokens or 0) <= 30 and (of.reply.input_tokens or 0) <= 40
        ),
    ),
    "latency": (RowFilter(latency_s=(0.5, None)), lambda of: latency(of) >= 0.5 - 1e-9),
    "a part of the id": (RowFilter(custom_id="na/00"), lambda of: "na/00" in of.item.id),
    "a beginning": (RowFilter(prefix="cherry/000"), lambda of: of.item.id.startswith("cherry/000")),
    "the candidate": (RowFilter(candidate="date"), lambda of: of.item.id.startswith("date")),
    "a candidate by a pattern": (
        RowFilter(candidate="007", candidate_by=r"/(\d\d\d)"),
        lambda of: of.item.id.split("/")[1].startswith("007"),
    ),
    "a candidate in the body": (
        RowFilter(candidate="Tell of the date number 7.", candidate_by="$.messages[0].content"),
        lambda of: of.position == 7,
    ),
    "a word": (RowFilter(text="green"), lambda of: "green" in words(said(of))),
    "words of both": (RowFilter(text="RED banana"), lambda of: {"red", "banana"} <= words(said(of))),
    "how a word begins": (RowFilter(text="gree*"), lambda of: "green" in words(said(of))),
    "words together": (RowFilter(text='"weight 1'), lambda of: {"weight", "1"} <= words(said(of))),
    "a phrase": (RowFilter(text='"of green colour"'), lambda of: "of green colour" in said(of)),
    "no such word": (RowFilter(text="qqqq"), lambda of: False),
    "several at once": (
        RowFilter(text="red", status="truncated", prefix="date/"),
        lambda of: (
            "red" in words(said(of)) and of.grade.outcome is Outcome.TRUNCATED and "date/" in of.item.id
        ),
    ),
}


def all_ids(context: Context, run: Run, wanted: RowFilter, *, limit: int = 43) -> list[str]:
    """Page after page, as somebody who looks at all of them."""
    found: list[str] = []
    after: str | None = None
    while True:
        page = results.page(context, run, wanted, after=after, limit=limit)
        found += [row.custom_id for row in page.rows]
        if page.after is None:
            return found
        assert page.after != after, "a cursor leads on"
        after = page.after


@pytest.mark.slow
@pytest.mark.promise("B-15")
@pytest.mark.parametrize("ended", [True, False], ids=["ended", "at work"])
def test_every_filter_finds_just_its_rows_page_by_page_in_both_directions(
    store: Store, tmp_path: Path, ended: bool
) -> None:
    made = [attempt_at(place) for place in range(ROWS)]
    context, run = context_of(store, tmp_path), batch_of(store, made, ended=ended)
    for name, (wanted, holds) in FILTERS.items():
        expected = [each.item.id for each in made if holds(each)]
        assert all_ids(context, run, wanted) == expected, name
        backwards = RowFilter.of({**wanted.words, "descending": True})
        assert all_ids(context, run, backwards) == expected[::-1], name
        first = results.page(context, run, wanted, limit=500)
        assert first.matched == len(expected) and first.total == ROWS, name
        assert first.search == ("whole" if ended else "live")


def test_rows_are_ordered_by_what_was_measured_and_those_without_come_last(
    store: Store, tmp_path: Path
) -> None:
    made = [attempt_at(place) for place in range(ROWS)]
    context, run = context_of(store, tmp_path), batch_of(store, made)
    for order, measure in (("latency", "latency_s"), ("output_tokens", "output_tokens")):
        for descending in (False, True):
            ids = all_ids(context, run, RowFilter(order=order, descending=descending))
            by_id = {each.item.id: each for each in made}
            values = [getattr(by_id[each].reply, measure, None) for each in ids]
            measured = [value for value in values if value is not None]
            assert measured == sorted(measured, reverse=descending)
            assert len(set(ids)) == ROWS and values[len(measured) :] == [None] * (ROWS - len(measured))


def test_a_page_may_begin_in_the_middle(store: Store, tmp_path: Path) -> None:
    made = [attempt_at(place) for place in range(ROWS)]
    context, run = context_of(store, tmp_path), batch_of(store, made)
    middle = results.page(context, run, at=60, limit=3)
    assert [row.attempt.position for row in middle.rows] == [60, 61, 62]
    failed = [each.position for each in made if each.failure]
    tenth = results.page(context, run, RowFilter(status="failed"), at=9, limit=2)
    assert [row.attempt.position for row in tenth.rows] == failed[9:11]
    assert results.page(context, run, at=ROWS, limit=3).rows == ()


@pytest.mark.slow
def test_a_large_run_that_is_not_indexed_is_searched_a_part_at_a_time(
    sqlite_url: str, tmp_path: Path
) -> None:
    store = Store.open(sqlite_url)
    rows = select.WINDOW + 500
    made = [attempt_at(place, words="x" if place != rows - 20 else "the needle") for place in range(rows)]
    context, run = context_of(store, tmp_path), batch_of(store, made, ended=False)
    first = results.page(context, run, RowFilter(text="needle"))
    assert first.rows == () and first.searched_to is not None and first.searched_to < rows
    assert first.matched is None
    assert all_ids(context, run, RowFilter(text="needle")) == [made[rows - 20].item.id]
    last = results.page(context, run, RowFilter(descending=True), limit=5)
    assert [row.attempt.position for row in last.rows] == [rows - 1 - n for n in range(5)]
    assert [row.attempt.position for row in results.page(context, run, at=10_100, limit=2).rows] == [
        10_100,
        10_101,
    ]
    with pytest.raises(Conflict, match="when the batch has ended"):
        results.page(context, run, RowFilter(order="latency"))


def test_what_a_resumed_run_answers_anew_is_found_and_its_old_files_are_not(
    store: Store, tmp_path: Path
) -> None:
    made = [attempt_at(place) for place in range(40)]
    context, run = context_of(store, tmp_path), batch_of(store, made)
    failed = results.page(context, run, RowFilter(status="failed"))
    assert failed.matched == 7
    again = [attempt_at(each.position, attempt=1, words="found anew") for each in made if each.failure]
    store.claim(run.id, owner="me", now=2e9, lease_s=600)
    from proctor.store import AttemptWriter
    from proctor.types import Status

    with AttemptWriter(store, run.id, owner="me", clock=lambda: 2e9) as writer:
        for each in again:
            writer.keep(each)
    assert results.page(context, store.run(run.id), RowFilter(status="failed")).matched == 0
    run = store.finish(run.id, Status.COMPLETED, owner="me", now=2e9 + 1, elapsed_s=1.0)
    assert results.page(context, run, RowFilter(status="failed")).matched == 0
    assert results.page(context, run, RowFilter(text="anew")).matched == 7
    item = results.one(context, run, again[0].item.id)
    assert [each.attempt for each, _ in item.tries] == [1, 0]
    assert [said["error"] for _, said in item.tries] == [None, "too many requests"]


def test_one_request_is_shown_whole_with_its_neighbours(store: Store, tmp_path: Path) -> None:
    made = [attempt_at(place) for place in range(12)]
    context, run = context_of(store, tmp_path), batch_of(store, made)
    item = results.one(context, run, "cherry/0002")
    assert item.request is not None and b'"model": "other"' in item.request.body
    assert (item.before, item.after) == ("banana/0001", "date/0003")
    assert item.row.prompt == "Tell of the cherry number 2." and item.row.candidate == "cherry"
    assert results.one(context, run, "apple/0000").before is None
    with pytest.raises(NotFound, match="no/such"):
        results.one(context, run, "no/such")


def test_candidates_are_counted_for_a_choice(store: Store, tmp_path: Path) -> None:
    context = context_of(store, tmp_path)
    run = batch_of(store, [attempt_at(place) for place in range(10)])
    assert results.candidates(context, run) == [(FRUIT[0], 3), (FRUIT[1], 3), (FRUIT[2], 2), (FRUIT[3], 2)]


def test_signs_of_languages_without_spaces_are_found_each(store: Store, tmp_path: Path) -> None:
    context = context_of(store, tmp_path)
    run = batch_of(store, [attempt_at(0, words="東京は日本の首都です"), attempt_at(1, words="京都")])
    assert all_ids(context, run, RowFilter(text="首都")) == ["apple/0000"]
    assert all_ids(context, run, RowFilter(text="京")) == ["apple/0000", "banana/0001"]


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"status": "teapot"}, "choose from answered"),
        ({"order": "colour"}, "choose from place"),
        ({"label": "fine"}, "choose from good"),
        ({"latency_min": "soon"}, "is no number"),
        ({"candidate_by": r"(a|aa)+$", "candidate": "a"}, "exponential"),
    ],
)
def test_a_filter_that_cannot_be_meant_is_refused(told: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        RowFilter.of(told)


def test_a_cursor_that_nobody_gave_is_refused(store: Store, tmp_path: Path) -> None:
    context, run = context_of(store, tmp_path), batch_of(store, [attempt_at(0)])
    for cursor in ("x1", "p1", "p1.2.3", "o-4", "p1.x"):
        with pytest.raises(ConfigError, match="no cursor"):
            results.page(context, run, after=cursor)


# Labels ------------------------------------------------------------------------------------------


def test_the_newest_label_counts_and_those_before_it_are_kept(store: Store, tmp_path: Path) -> None:
    context, run = context_of(store, tmp_path), batch_of(store, [attempt_at(place) for place in range(12)])
    ident = "apple/0000"
    labels.put(
        context, run.id, ident, LabelMark("bad", note="wrong colour", tags=("colour", "colour ")), user="ann"
    )
    labels.put(context, run.id, ident, LabelMark("edited", text="A green one."), user="bob")
    labels.put(context, run.id, "banana/0001", LabelMark("good", tags=("short",)), user="ann")
    told = [(each.verdict, each.user, each.tags) for each in labels.of_row(context, run.id, ident)]
    assert told == [("edited", "bob", ()), ("bad", "ann", ("colour",))]
    assert labels.counts(context, run.id).verdicts == {"edited": 1, "good": 1}
    assert labels.counts(context, run.id).tags == {"short": 1}
    assert all_ids(context, run, RowFilter(label="any")) == [ident, "banana/0001"]
    assert all_ids(context, run, RowFilter(label="good")) == ["banana/0001"]
    assert all_ids(context, run, RowFilter(tag="short")) == ["banana/0001"]
    assert len(all_ids(context, run, RowFilter(label="none"))) == 10
    assert results.page(context, run).rows[0].label == labels.of_row(context, run.id, ident)[0]
    labels.put(context, run.id, ident, LabelMark(), user="ann")
    assert all_ids(context, run, RowFilter(label="any")) == ["banana/0001"]
    assert len(labels.of_row(context, run.id, ident)) == 3


def test_labels_that_cannot_be_meant_are_refused(store: Store, tmp_path: Path) -> None:
    context, run = context_of(store, tmp_path), batch_of(store, [attempt_at(0)])
    for mark in (
        LabelMark("edited"),
        LabelMark("good", text="x"),
        LabelMark(tags=("x" * 51,)),
        LabelMark(note="x" * 5_001),
    ):
        with pytest.raises(ConfigError):
            labels.put(context, run.id, "apple/0000", mark, user="ann")
    with pytest.raises(NotFound):
        labels.put(context, run.id, "apple/9999", LabelMark("good"), user="ann")


def test_of_several_runs_one_reply_is_the_best(store: Store, tmp_path: Path) -> None:
    context = context_of(store, tmp_path)
    runs = [batch_of(store, [attempt_at(0)], model=name).id for name in ("one", "two", "three")]
    ident = "apple/0000"
    labels.put(context, runs[2], ident, LabelMark("bad"), user="ann")
    labels.best_of(context, runs, ident, runs[0], user="ann")
    labels.best_of(context, runs, ident, runs[1], user="ann")
    now = [labels.current(context, run, [ident]).get((ident, 0)) for run in runs]
    assert [each.verdict if each else None for each in now] == [None, "best", "bad"]
    with pytest.raises(ConfigError, match="must be among"):
        labels.best_of(context, runs[:2], ident, runs[2], user="ann")


def test_with_a_run_go_its_labels_and_its_search_files(store: Store, tmp_path: Path) -> None:
    context, run = context_of(store, tmp_path), batch_of(store, [attempt_at(place) for place in range(5)])
    labels.put(context, run.id, "apple/0000", LabelMark("good"), user="ann")
    assert files.files_of(context, run).words is not None
    assert len(list(batch_files.folder(tmp_path).glob(f"{run.id}*"))) == 3
    prune.delete(context, run.id)
    assert list(batch_files.folder(tmp_path).iterdir()) == []
    with pytest.raises(NotFound):
        store.run(run.id)
