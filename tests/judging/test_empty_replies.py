"""Replies without a word need neither judge nor person, and count for what they are in every figure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from labels_made import queue_of, run_of, say
from worth_made import CORRECT, JUDGE, judge_says, passes

from opened import over
from proctor.references import JudgingRef
from proctor.service.checked.worth import judged_comparison, judged_result
from proctor.service.judging.judged import judged_replies
from proctor.service.judging.names import judge_name
from proctor.service.judging.verdicts import EMPTY
from proctor.stats.judged.prediction import corrected_mean, with_known
from proctor.store import Store
from proctor.types import Run

N = 200
# One model says nothing to every other question, and is right wherever it speaks; the other one always is.
SILENT = ["" if i % 2 else "right" for i in range(N)]
WORDS = ["right"] * N


@pytest.fixture
def lite(sqlite_url: str) -> Iterator[Store]:
    store = Store.open(sqlite_url)
    yield store
    store.close()


def judged(store: Store, model: str, texts: list[str]) -> Run:
    """As a judge that never errs leaves it."""
    run = run_of(store, model, texts, [float(bool(text)) for text in texts])
    notes = [note if text else EMPTY for note, text in zip(passes([1.0] * N), texts, strict=True)]
    judge_says(store, run, notes, scores=[float(bool(text)) for text in texts])
    return run


def test_a_model_that_is_silent_every_other_time_is_worth_half_by_people_too(lite: Store) -> None:
    silent, other = judged(lite, "silent", SILENT), judged(lite, "other", WORDS)
    context, made = queue_of(lite, silent, other, random=60)
    drawn = {entry.place.row.item_id for entry in made.entries}
    shown = [entry.place.run.id for entry in made.entries]
    assert len(drawn) == made.random - shown.count(silent.id) == 60  # of the other run a reply to each
    assert 0 < shown.count(silent.id) < 60  # and of the silent one those that have words
    say(context, made, ["pass"] * len(made.entries))
    alone = judged_result(over(lite), silent.id).whole
    assert alone.people is not None and alone.corrected is not None and alone.people.low is not None
    assert alone.people.value == pytest.approx(0.5) == alone.corrected.value == alone.judge.value
    assert 0.4 < alone.people.low < 0.5 and alone.labels == shown.count(silent.id)
    assert f"{N // 2} items are worth 0 unasked" in alone.corrected.method
    found = judged_comparison(over(lite), silent.id, other.id)
    assert found.whole.labels == 60 and found.whole.verdict == "second better"
    assert found.whole.people is not None and found.whole.people.value == pytest.approx(-0.5, abs=0.13)


def test_what_both_left_empty_is_no_difference_and_is_drawn_for_nobody(lite: Store) -> None:
    first, second = judged(lite, "one", SILENT), judged(lite, "two", SILENT)
    context, made = queue_of(lite, first, second, random=30)
    assert all(int(entry.place.row.item_id.partition("/")[2]) % 2 == 0 for entry in made.entries)
    say(context, made, ["pass"] * len(made.entries))
    whole = judged_comparison(over(lite), first.id, second.id).whole
    assert whole.labels == 30 and whole.quoted.value == 0.0 and whole.verdict == "no difference shown"
    assert whole.quoted.asked == N


def test_nothing_is_asked_of_a_judge_about_them(lite: Store) -> None:
    run = run_of(lite, "silent", SILENT)
    asked, _ = judged_replies(lite, JudgingRef("open.csv", run.id))
    assert len(asked) == N // 2 and judge_name(JUDGE, JudgingRef("open.csv", run.id), 1).endswith(
        CORRECT.words
    )


def test_the_interval_holds_the_share_of_all_where_a_third_is_known() -> None:
    random, held = np.random.default_rng(4), 0
    for _ in range(300):
        empty = int((random.random(600) < 1 / 3).sum())
        told = random.random(600 - empty) < 0.9
        said = np.where(random.random(len(told)) < 0.9, told, ~told)
        people, judge = told.astype(float).tolist(), said.astype(float).tolist()
        found = corrected_mean(people[:60], judge[:60], judge[60:], known=empty).corrected
        held += found.low <= 0.6 <= found.high  # type: ignore[operator]  # there are labels
    assert 0.92 * 300 <= held <= 0.99 * 300


def test_nothing_known_changes_nothing_and_a_negative_value_is_mirrored() -> None:
    found = corrected_mean([1.0] * 40 + [0.0] * 20, [1.0] * 60, [1.0] * 90)
    assert with_known(found.people, 150, 0) is found.people
    plain = with_known(found.people, 150, 50)
    assert None not in (found.people.value, found.people.low, found.people.high)
    turned = with_known(mirrored(found.people), 150, 50)
    ends = turned.low, turned.value, turned.high
    assert ends == pytest.approx((-plain.high, -plain.value, -plain.low))


def mirrored(of):  # type: ignore[no-untyped-def]  # an estimate of both
    return replace(of, value=-of.value, low=-of.high, high=-of.low)
