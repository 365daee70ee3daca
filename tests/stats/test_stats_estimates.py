"""A run's scores: errors lower the coverage, tasks weigh as they must, what hangs together counts as less."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from examrows import GLUE, SUITES, exam_rows, one, only, suite_rows, task_of
from proctor.errors import ConfigError
from proctor.stats.estimates import Count, Scored, Shape, TaskShape, accuracy, micro, scores
from proctor.stats.intervals import share_stderr, wilson

ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([0.0, 1.0, None])), max_size=100)


def shape(**full_sizes: int) -> Shape:
    return Shape("The suite", {t: TaskShape(f"Task {t.upper()}", full_size=n) for t, n in full_sizes.items()})


def marked(rows: list[tuple[str, float | None]]) -> list[Scored]:
    return [one(task, place, score) for place, (task, score) in enumerate(rows)]


# Accuracy and micro averages ---------------------------------------------------------------------


def test_accuracy_is_a_share_with_wilsons_interval() -> None:
    e = accuracy(Count(asked=22, scored=20, total=17.0))
    assert (e.value, e.scored, e.asked, e.method) == (0.85, 20, 22, "Wilson")
    assert (e.low, e.high) == (pytest.approx(0.6396, abs=5e-5), pytest.approx(0.9476, abs=5e-5))
    assert e.stderr == share_stderr(0.85, 20)


@settings(deadline=None)
@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_task_of_single_items_has_wilsons_interval(counts: tuple[int, int]) -> None:
    right, n = counts
    ours, theirs = only(task_of(right, n)).estimate, accuracy(Count(n, n, float(right)))
    assert (ours.value, ours.low, ours.high, ours.method) == (theirs.value, theirs.low, theirs.high, "Wilson")
    assert ours.stderr == pytest.approx(theirs.stderr)


@pytest.mark.parametrize(
    ("asked", "reason"), [(0, "no item was asked"), (7, "every item asked ended in an error")]
)
def test_nothing_measured_is_no_number(asked: int, reason: str) -> None:
    for e in (accuracy(Count(asked=asked)), micro({"a": Count(asked=asked)}, shape(a=10))):
        assert (e.value, e.stderr, e.low, e.high, e.scored, e.asked) == (None, None, None, None, 0, asked)
        assert e.reason == reason


@pytest.mark.parametrize("metric", ["accuracy", "mcc"])
def test_a_task_of_errors_alone_has_no_number(metric: str) -> None:
    e = only([one("a", i, None) for i in range(3)], TaskShape("A", (metric,), labels=("A", "B"))).estimate
    assert (e.value, e.low, e.scored, e.asked) == (None, None, 0, 3)
    assert e.reason == "every item asked ended in an error"


@pytest.mark.slow
@settings(deadline=None)
@given(ROWS, st.sampled_from("abc"))
def test_an_errored_item_changes_no_score(rows: list[tuple[str, float | None]], task: str) -> None:
    """It is counted as asked, and no value, interval or standard error moves."""
    full = [("a", 1.0), ("b", 1.0), ("c", 1.0), *rows]
    sizes = shape(a=50, b=60, c=70)
    both = (scores(marked(r), sizes) for r in (full, [*full, (task, None)]))
    for before, after in zip(*both, strict=True):
        assert (before.task, before.metric) == (after.task, after.metric)
        old, new = before.estimate, after.estimate
        assert (old.value, old.stderr, old.low, old.high) == (new.value, new.stderr, new.low, new.high)
        assert new.scored == old.scored
        assert new.asked == old.asked + (before.task in ("", task))


@settings(deadline=None, max_examples=25)
@given(st.sampled_from([*GLUE]), st.randoms(use_true_random=False))
def test_the_order_of_items_does_not_matter(task: str, shuffler: random.Random) -> None:
    """Nor does it for resampled intervals, to the last digit."""
    rows = exam_rows(task, GLUE[task], "mixed", n=40)
    mixed = list(rows)
    shuffler.shuffle(mixed)
    assert scores(rows, Shape("", GLUE)) == scores(mixed, Shape("", GLUE))


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 400), st.floats(0, 1)), min_size=1, max_size=3))
def test_micro_over_whole_splits_is_plain_accuracy(tasks: list[tuple[int, float]]) -> None:
    counts = {t: Count(n, n, float(round(n * part))) for t, (n, part) in zip("abc", tasks, strict=False)}
    n = sum(c.scored for c in counts.values())
    plain = accuracy(Count(n, n, sum(c.total for c in counts.values())))
    weighted = micro(counts, shape(**{t: c.scored for t, c in counts.items()}))
    assert weighted.value == pytest.approx(plain.value, abs=1e-12)
    assert [weighted.low, weighted.high] == pytest.approx([plain.low, plain.high], abs=1e-9)
    assert (weighted.scored, weighted.asked) == (plain.scored, plain.asked)


def test_micro_weighs_tasks_by_their_whole_splits() -> None:
    """90 of 100 and 10 of 100, of splits with 900 and 100 items: 0.9 * 0.9 + 0.1 * 0.1."""
    e = micro({"a": Count(100, 100, 90.0), "b": Count(100, 100, 10.0)}, shape(a=900, b=100))
    assert e.value == pytest.approx(0.82)
    # Kish: weights 9 and 1, a hundred times each: (900 + 100)^2 / (100 * 81 + 100 * 1) = 121.95.
    assert (e.low, e.high) == pytest.approx(wilson(0.82, 1e6 / 8200))
    assert "effective n" in e.method


def test_a_task_of_which_nothing_was_scored_has_no_weight() -> None:
    e = micro({"a": Count(10, 10, 5.0), "b": Count(10, 0, 0.0)}, shape(a=100, b=900))
    assert (e.value, e.scored, e.asked) == (0.5, 10, 20)


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 300), st.integers(1, 2000)), min_size=2, max_size=3))
def test_all_right_is_exactly_1_and_all_wrong_exactly_0(sizes: list[tuple[int, int]]) -> None:
    """Not the float below 1, which would be shown as 0.999."""
    full = shape(**{t: n for t, (_, n) in zip("abc", sizes, strict=False)})
    for each in (1.0, 0.0):
        rows = [r for t, (k, _) in zip("abc", sizes, strict=False) for r in task_of(int(k * each), k, t)]
        for score in scores(rows, full):
            assert score.estimate.value == each
        e = scores(rows, full)[0].estimate
        assert (e.high if each else e.low) == each


# The suite ---------------------------------------------------------------------------------------


def test_the_suite_comes_first_and_a_single_task_stands_alone() -> None:
    rows = marked([("b", 1.0), ("a", 0.0)])
    assert [(s.task, s.title, s.metric) for s in scores(rows, shape(a=1, b=1))] == [
        ("", "The suite", "accuracy"),
        ("", "The suite", "macro accuracy"),
        ("a", "Task A", "accuracy"),
        ("b", "Task B", "accuracy"),
    ]
    alone = scores(marked([("a", 1.0)]), shape(a=1, b=1))
    assert [(s.task, s.title, s.metric) for s in alone] == [("a", "Task A", "accuracy")]
    assert scores([], shape(a=1, b=1)) == ()


def test_every_figure_is_a_plain_number() -> None:
    """numpy's own kinds of float would not go into JSON."""
    for name, tasks in SUITES.items():
        for aggregate in ("macro", "micro"):
            for score in scores(suite_rows(name, "mixed"), Shape(name, tasks, aggregate)):
                e = score.estimate
                assert {type(x) for x in (e.value, e.stderr, e.low, e.high)} == {float}, score
                assert {type(x) for x in (e.scored, e.asked)} == {int}


@pytest.mark.parametrize("name", ["glue", "superglue"])
@pytest.mark.parametrize("way", ["mixed", "perfect", "wrong", "silent"])
def test_an_official_score_is_the_mean_of_the_tasks_means(name: str, way: str) -> None:
    tasks = SUITES[name]
    first, *rest = scores(suite_rows(name, way), Shape(name, tasks, "macro"))
    values = {(s.task, s.metric): s.estimate.value for s in rest}
    own = [
        fmean(values[task, metric] or 0.0 for metric in spec.official)
        for task, spec in tasks.items()
        if not spec.extra
    ]
    e = first.estimate
    assert (first.task, first.metric) == ("", "score")
    assert e.value == pytest.approx(fmean(own))
    assert e.low is not None and e.high is not None and e.stderr
    assert e.low <= fmean(own) <= e.high and e.high - e.low > 0.005
    assert way != "perfect" or (e.value, e.high) == (1.0, 1.0)


@pytest.mark.parametrize("name", ["glue", "superglue", "medical"])
@pytest.mark.parametrize("way", ["perfect", "wrong", "silent", "half silent"])
@pytest.mark.parametrize("n", [6, 40])
def test_no_interval_leaves_what_its_metric_can_be(name: str, way: str, n: int) -> None:
    """A share is from 0 to 1, also where tasks that report F1 are averaged; MCC and correlations start at -1."""
    signed = {"mcc", "pearson", "spearman"}
    tasks = {key: spec for key, spec in SUITES[name].items() if signed.isdisjoint(spec.official)}
    rows = [row for key, spec in tasks.items() for row in exam_rows(key, spec, way, n)]
    for score in scores(rows, Shape(name, tasks, "macro")):
        e = score.estimate
        if e.low is not None and e.high is not None:
            assert (-1.0 if score.metric in signed else 0.0) <= e.low <= e.high <= 1.0, score


def test_a_mean_over_tasks_is_bounded_as_its_tasks_are() -> None:
    """Two tasks of which one can be negative: their mean ends at -0.5; grades of no known scale end nowhere."""
    tasks = {key: GLUE[key] for key in ("cola", "mrpc")}
    rows = [row for key, spec in tasks.items() for row in exam_rows(key, spec, "wrong", 4)]
    low = scores(rows, Shape("Two", tasks, "macro"))[0].estimate.low
    assert low is not None
    assert -0.5 <= low < 0.0
    graded = {key: TaskShape(key, ("mean",)) for key in "ab"}
    far = [one(key, place, 5.0 + place) for key in graded for place in range(10)]
    top = scores(far, Shape("Grades", graded, "macro"))[0].estimate
    assert top.value is not None and top.low is not None and top.high is not None
    assert 1.0 < top.low < top.value < top.high


def test_the_order_is_headline_then_task_by_task() -> None:
    found = [(s.task, s.metric) for s in scores(suite_rows("glue", "mixed"), Shape("GLUE", GLUE, "macro"))]
    every = [(task, m) for task, spec in GLUE.items() for m in (*spec.official, *spec.also)]
    means = [("", "accuracy, mean of 8 tasks"), ("", "f1, mean of 2 tasks")]
    assert found == [("", "score"), *means, *every]


def test_a_task_without_accuracy_is_no_part_of_one() -> None:
    first, second, *_ = scores(suite_rows("glue", "mixed"), Shape("GLUE", GLUE, "micro"))
    assert (first.metric, second.metric) == ("accuracy (8 of 9 tasks)", "macro accuracy (8 of 9 tasks)")
    assert first.estimate.scored == 8 * 120


def test_extras_are_no_part_of_the_score() -> None:
    with_extras, without = (
        scores(suite_rows("superglue", "mixed", out), Shape("", SUITES["superglue"], "macro"))[0]
        for out in ((), ("axb", "axg"))
    )
    assert with_extras == without


@pytest.mark.parametrize("aggregate", ["macro", "micro"])
def test_a_suite_of_some_tasks_does_not_bear_the_suites_name(aggregate: Literal["macro", "micro"]) -> None:
    rows = suite_rows("glue", "mixed", ("qnli", "cola", "stsb"))
    metric = {"macro": "score", "micro": "accuracy"}[aggregate]
    first = scores(rows, Shape("GLUE", GLUE, aggregate))[0]
    assert first.metric == f"{metric} (6 of 9 tasks)"
    named = {task: GLUE[task] for task in {r.task for r in rows}}
    assert scores(rows, Shape("GLUE", named, aggregate, whole=9))[0].metric == first.metric


def test_a_task_that_has_no_score_is_not_counted_as_run() -> None:
    rows = suite_rows("glue", "mixed", ("wnli",)) + [one("wnli", i, None) for i in range(5)]
    first = scores(rows, Shape("GLUE", GLUE, "macro"))[0]
    assert first.metric == "score (8 of 9 tasks)"
    assert first.estimate.asked == first.estimate.scored + 5


def test_categories_are_averages_over_their_items() -> None:
    rows = [*task_of(9, 10, "a"), *task_of(1, 10, "b"), *task_of(5, 10, "c")]
    full = replace(
        shape(a=100, b=300, c=50), categories=(("STEM", ("a", "b")), ("other", ("c", "x")), ("law", ("y",)))
    )
    found = {s.metric: s.estimate.value for s in scores(rows, full) if not s.task}
    assert found["STEM accuracy"] == pytest.approx((100 * 0.9 + 300 * 0.1) / 400)
    assert found["other accuracy (1 of 2 tasks)"] == 0.5
    assert found["macro accuracy"] == pytest.approx(0.5)
    assert list(found) == ["accuracy", "macro accuracy", "STEM accuracy", "other accuracy (1 of 2 tasks)"]


def test_the_interval_of_a_mean_over_tasks_is_narrower_than_theirs() -> None:
    """Four independent tasks: the standard error of their mean is half that of each."""
    tasks = {t: TaskShape(t) for t in "abcd"}
    rows = [r for t in tasks for r in task_of(160, 200, t)]
    e = scores(rows, Shape("", tasks, "macro"))[0].estimate
    assert e.stderr == pytest.approx(math.sqrt(0.8 * 0.2 / 200) / 2, rel=0.06)
    assert e.low is not None and e.high is not None
    assert e.high - e.low == pytest.approx(2 * 1.96 * math.sqrt(0.8 * 0.2 / 200) / 2, rel=0.12)


def test_the_interval_of_a_mean_lies_around_it() -> None:
    """Half an item more on each side of nine small tasks must not push the interval below their mean.

    Two metrics a task: a mean of shares alone needs no draws any more, see the next test.
    """
    tasks = {t: TaskShape(t, ("accuracy", "em")) for t in "abcdefghi"}
    e = scores([r for t in tasks for r in task_of(19, 20, t)], Shape("", tasks, "macro"))[0].estimate
    assert e.method.startswith("draws of each task combined")
    assert e.value is not None and e.low is not None and e.high is not None and e.stderr is not None
    assert e.low < e.value - 1.5 * e.stderr and e.high > e.value + 1.5 * e.stderr


@pytest.mark.parametrize(("aggregate", "place"), [("macro", 0), ("micro", 0), ("micro", 1)])
def test_tasks_of_one_size_have_the_interval_of_one_exam(
    aggregate: Literal["macro", "micro"], place: int
) -> None:
    """Also with a single item each, of which none shows how it could have come out otherwise."""
    tasks = {f"t{k}": TaskShape(f"T{k}", full_size=100) for k in range(40)}
    rows = [row for k, t in enumerate(tasks) for row in task_of(int(k % 5 > 0), 1, t)]
    e = scores(rows, Shape("", tasks, aggregate))[place].estimate
    assert e.value == pytest.approx(0.8)
    assert (e.low, e.high) == pytest.approx(wilson(0.8, 40))


@pytest.mark.parametrize("able", [0.5, 0.7, 0.9])
@pytest.mark.parametrize(
    ("n", "weights"), [((100, 5), (1, 1)), ((1000, 10), (1, 1)), ((60, 60, 5), (1, 1, 1))]
)
def test_a_small_task_that_is_harder_widens_a_weighted_headline(
    n: tuple[int, ...], weights: tuple[int, ...], able: float
) -> None:
    """Exact over what the small task can show, the large ones as they are on average.

    With Kish's effective n alone five such items cover 76 % where the large tasks are at 0.99.
    """
    small, full = n[-1], shape(**{t: 1000 * w for t, w in zip("abc", weights, strict=False)})
    large = {t: Count(k, k, round(0.97 * k)) for t, k in zip("abc", n[:-1], strict=False)}
    last, whole = "abc"[len(large)], sum(weights)
    true = (sum(c.total / c.scored for c in large.values()) + able) / whole
    covered = 0.0
    for right in range(small + 1):
        e = micro({**large, last: Count(small, small, float(right))}, full)
        assert e.low is not None and e.high is not None
        covered += stats.binom.pmf(right, small, able) * (e.low <= true <= e.high)
    assert covered > 0.9


@pytest.mark.slow
@pytest.mark.parametrize(("n", "able"), [(3, 0.6), (4, 0.8), (20, 0.7)])
def test_a_mean_over_many_small_tasks_has_the_width_it_needs(n: int, able: float) -> None:
    """Draws of 3 items are 30 % narrower than 3 items are; over 57 tasks that is not covered by what they lean."""
    rng = np.random.default_rng(57)
    tasks = {f"t{k}": TaskShape(f"T{k}") for k in range(57)}
    errors, held = [], 0
    for _ in range(40):
        rows = [row for t in tasks for row in task_of(int(rng.binomial(n, able)), n, t)]
        e = scores(rows, Shape("", tasks, "macro"))[0].estimate
        assert e.low is not None and e.high is not None
        held += e.low <= able <= e.high
        errors.append(e.stderr)
    assert np.mean(errors) == pytest.approx(math.sqrt(able * (1 - able) / n / 57), rel=0.04)
    assert held >= 35  # of 40: fewer have a probability of 0.3 % at 95 %


# Wrong shapes, real rows -------------------------------------------------------------------------


def test_f1_without_its_positive_label_says_what_is_missing() -> None:
    with pytest.raises(ConfigError, match="'Odd': f1 needs a positive label, which is None; labels: A, B"):
        only(task_of(1, 3), TaskShape("Odd", ("f1",), labels=("A", "B")))


def test_an_unknown_metric_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="no metric 'bleu'; known: accuracy, "):
        only(task_of(1, 3), TaskShape("Odd", ("bleu",)))


def test_real_replies_give_the_published_accuracy(shared: Path) -> None:
    """MIRAGE's own reading of GPT-3.5 on MedQA has 826 of 1,273 right."""
    lines = (shared / "data/predictions/mirage/medqa__cot__gpt-35-turbo-16k.jsonl").read_text().splitlines()
    rows = [
        one("medqa", i, float(r["mirage_parsed"] == r["gold"]), target=r["gold"], answer=r["mirage_parsed"])
        for i, r in enumerate(map(json.loads, lines))
    ]
    e = only(rows).estimate
    assert (e.value, e.scored) == (826 / 1273, 1273)
    theirs = stats.binomtest(826, 1273).proportion_ci(method="wilson")
    assert (e.low, e.high) == pytest.approx((theirs.low, theirs.high))


def test_100_real_classifiers_on_mnli(shared: Path) -> None:
    """Each row's score is the share of 100 BERTs that got it right; the mean is published with the file."""
    path = shared / "data/glue/mnli/mnli_development_set_number_of_correct_responses.txt"
    table = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    rows = [one("mnli", i, int(cells[-1]) / 100, half="m", cluster=cells[1]) for i, cells in enumerate(table)]
    e = only(rows).estimate
    assert e.value == pytest.approx(0.8433928, abs=5e-8)
    by_premise: dict[str, list[float]] = {}
    for cells in table:
        by_premise.setdefault(cells[1], []).append(int(cells[-1]) / 100 - (e.value or 0))
    c = len(by_premise)
    variance = c / (c - 1) * sum(sum(rest) ** 2 for rest in by_premise.values()) / len(rows) ** 2
    assert e.stderr == pytest.approx(math.sqrt(variance))
