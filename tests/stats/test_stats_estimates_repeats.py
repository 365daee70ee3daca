"""Items that are not independent, or were asked more than once: clusters, halves, repeats, wordings, pairs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import t as student

from examrows import GLUE, SUITES, exam_rows, one, only, row, task_of
from proctor.stats.estimates import Scored, Shape, TaskShape, scores
from proctor.stats.intervals import Z95, wilson
from proctor.types import Outcome

# What hangs together -----------------------------------------------------------------------------


@settings(deadline=None)
@given(st.lists(st.booleans(), min_size=2, max_size=80), st.integers(2, 5))
def test_copies_of_an_item_are_worth_one(right: list[bool], copies: int) -> None:
    """Clusters in which all answers are the same: the interval is that of as many items as there are clusters.

    It used to be no wider than that; few clusters show their variance badly, though, and three of 20 items each
    covered 86 to 89 %. So where they differ, they are worth fewer by Student's t, as few as one.
    """
    rows = [
        one("a", i * copies + j, float(r), cluster=f"c{i}")
        for i, r in enumerate(right)
        for j in range(copies)
    ]
    ours, theirs = only(rows).estimate, only(task_of(sum(right), len(right))).estimate
    n = len(right)
    worth = n * (Z95 / student.ppf(0.975, n - 1)) ** 2 if 0 < sum(right) < n else n
    assert ours.value == pytest.approx(theirs.value)
    assert [ours.low, ours.high] == pytest.approx(wilson(theirs.value or 0.0, max(1.0, worth)))
    assert ours.stderr == pytest.approx(theirs.stderr)
    assert ours.method == "Wilson on the effective n of the clusters" and ours.scored == len(rows)


def test_clusters_never_make_an_exam_worth_more_than_its_items() -> None:
    """One right and one wrong in every cluster: no variance between them, and still only 40 items.

    20 clusters tell their variance with 19 degrees of freedom, so that it is a little less than 40.
    """
    rows = [one("a", i, float(i % 2), cluster=f"c{i // 2}") for i in range(40)]
    worth = 40 * (Z95 / student.ppf(0.975, 19)) ** 2
    assert (only(rows).estimate.low, only(rows).estimate.high) == pytest.approx(wilson(0.5, worth))
    assert 35 < worth < 36


def test_a_single_cluster_is_worth_one_item() -> None:
    e = only([one("a", i, float(i % 2), cluster="c") for i in range(40)]).estimate
    assert e.stderr is None
    assert (e.low, e.high) == pytest.approx(wilson(0.5, 1))


def test_clusters_lower_the_worth_of_a_task_in_micro_averages() -> None:
    loose = [*task_of(50, 100, "a"), *task_of(50, 100, "b")]
    tight = [replace(r, cluster=f"{r.task}{int(r.item.split('/')[1]) // 10}") for r in loose]
    (wide, narrow) = (
        scores(rows, Shape("", {t: TaskShape(t, full_size=100) for t in "ab"}))[0].estimate
        for rows in (tight, loose)
    )
    assert wide.value == narrow.value
    assert (wide.low or 0) < (narrow.low or 0) - 0.05


def test_halves_count_the_same_whatever_their_sizes() -> None:
    spec = GLUE["mnli"]
    rows = [replace(row("mnli", spec, i, "neutral", "neutral"), half="m", cluster=None) for i in range(30)]
    rows += [replace(row("mnli", spec, i, "neutral", None), half="mm", cluster=None) for i in range(30, 40)]
    found = {s.metric: s.estimate for s in scores(rows, Shape("", {"mnli": spec}))}
    assert [found[m].value for m in ("accuracy", "accuracy_m", "accuracy_mm")] == [0.5, 1.0, 0.0]
    assert [found[m].scored for m in ("accuracy", "accuracy_m", "accuracy_mm")] == [40, 30, 10]


# Repeats and wordings ----------------------------------------------------------------------------


def repeated(marks: list[list[float | None]]) -> list[Scored]:
    return [one("a", i, mark, repeat=k) for i, each in enumerate(marks) for k, mark in enumerate(each)]


def test_an_item_asked_several_times_counts_once_with_its_mean() -> None:
    """Means 2/3, 0, 1 and, with one error, 1: the standard error is that of these four numbers."""
    e = only(repeated([[1, 1, 0], [0, 0, 0], [1, 1, 1], [1, None, 1]])).estimate
    assert e.value == pytest.approx((2 / 3 + 0 + 1 + 1) / 4)
    assert (e.scored, e.asked) == (4, 4)
    assert e.stderr == pytest.approx(stats.sem([2 / 3, 0, 1, 1]))


@settings(deadline=None)
@given(st.lists(st.booleans(), min_size=2, max_size=60), st.integers(2, 4))
def test_repeats_that_always_agree_add_nothing(right: list[bool], times: int) -> None:
    many, once = (
        only(repeated([[float(r)] * times for r in right])).estimate,
        only(repeated([[float(r)] for r in right])).estimate,
    )
    assert (many.value, many.scored) == (once.value, once.scored)
    assert [many.low, many.high] == pytest.approx([once.low, once.high])


@pytest.mark.parametrize("task", ["cola", "cb", "stsb", "record", "multirc", "mrpc"])
def test_repeats_that_always_agree_add_nothing_to_any_metric(task: str) -> None:
    spec = next(tasks[task] for tasks in SUITES.values() if task in tasks)
    rows = exam_rows(task, spec, "mixed")
    thrice = [replace(r, repeat=k) for r in rows for k in range(3)]
    once = scores(rows, Shape("", {task: spec}))
    further = scores(thrice, Shape("", {task: spec}))[len(once) :]
    assert {score.metric for score in further} <= {"pass@2", "pass^2", "pass@3", "pass^3"}
    for before, after in zip(once, scores(thrice, Shape("", {task: spec})), strict=False):
        old, new = before.estimate, after.estimate
        assert (new.value, new.low, new.high) == pytest.approx((old.value, old.low, old.high))
        assert (new.scored, new.asked) == (old.scored, old.asked)


def worded(rights: list[tuple[int, int, int]]) -> list[Scored]:
    return [
        one("a", i, float(right), item=f"a/{i}@{wording}", cluster=f"a/{i}")
        for i, each in enumerate(rights)
        for wording, right in enumerate(each, 1)
    ]


def test_an_items_score_is_the_mean_over_its_wordings() -> None:
    rows = worded([(1, 1, 0), (0, 0, 0), (1, 1, 1), (1, 0, 0)])
    e = only(rows).estimate
    assert e.value == pytest.approx((2 / 3 + 0 + 1 + 1 / 3) / 4)
    assert (e.scored, e.asked) == (4, 4)


def test_an_id_that_only_looks_like_a_wording_stays_an_item() -> None:
    rows, plain = worded([(1, 1, 0)]), Shape("", {"a": TaskShape("A")}, worded=False)
    rows = [replace(r, cluster=None) for r in rows]
    assert scores(rows, plain)[0].estimate.scored == 3


def test_pairs_are_of_one_wording_and_repeat() -> None:
    """Both wordings agree within themselves, and not with each other."""
    spec = SUITES["superglue"]["axg"]
    rows = [
        replace(row("axg", spec, place, "entailment", answer), item=f"axg/{place}@{wording}", repeat=k)
        for wording, answer in ((1, "entailment"), (2, "not_entailment"))
        for k in (0, 1)
        for place in range(6)
    ]
    e = {s.metric: s.estimate for s in scores(rows, Shape("", {"axg": spec}))}["gender_parity"]
    assert (e.value, e.scored, e.asked) == (1.0, 3, 3)


def test_a_pair_with_an_error_says_nothing_about_parity() -> None:
    spec = SUITES["superglue"]["axg"]
    rows = [row("axg", spec, place, "entailment", "entailment") for place in range(6)]
    rows[3] = replace(rows[3], answer=None, score=None, outcome=Outcome.ERROR)
    e = {s.metric: s.estimate for s in scores(rows[:5], Shape("", {"axg": spec}))}["gender_parity"]
    assert (e.value, e.scored, e.asked) == (1.0, 1, 3)
