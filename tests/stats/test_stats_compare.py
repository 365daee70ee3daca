"""Comparisons of runs: the right test for each metric, intervals, verdicts, and what must never happen."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, permutation_test
from sklearn.metrics import f1_score, matthews_corrcoef

from compared import compared, pair, row, run, scored, table
from examrows import SUITES, exam_rows
from proctor.errors import ConfigError
from proctor.findings import Difference, Estimate
from proctor.stats.compare import differences, focused, judged
from proctor.stats.estimates import Shape, TaskShape, scores
from proctor.stats.metrics import Scored
from proctor.stats.ranks import resampled

LABELS = TaskShape("Labels", official=("mcc",), also=("accuracy",), labels=("no", "yes"), kind="labels")
F1 = TaskShape("F1", official=("f1", "accuracy"), positive="yes", labels=("no", "yes"), kind="labels")
THREE = TaskShape("Three", official=("macro_f1",), labels=("a", "b", "c"), kind="labels")
PLAIN = TaskShape("Plain")


def answered(
    targets: Sequence[str],
    answers: Sequence[str | None],
    task: str = "q",
    clusters: Sequence[str] | None = None,
) -> list[Scored]:
    return [
        row(
            f"{task}/{i}",
            float(answer == target),
            task=task,
            target=target,
            answer=answer,
            cluster=clusters[i] if clusters else None,
        )
        for i, (target, answer) in enumerate(zip(targets, answers, strict=True))
    ]


def drawn(n: int, right: float, names: Sequence[str], seed: int) -> tuple[list[str], list[str]]:
    chance = random.Random(seed)
    targets = [chance.choice(names) for _ in range(n)]
    answers = [t if chance.random() < right else chance.choice(names) for t in targets]
    return targets, answers


def one(first: Sequence[Scored], second: Sequence[Scored], spec: TaskShape = PLAIN) -> Difference:
    return differences(first, second, Shape("Suite", {"q": spec}))[0]


# Rights and wrongs -------------------------------------------------------------------------------


@pytest.mark.parametrize(("b", "c"), [(5, 15), (10, 25), (0, 6), (3, 3), (12, 30)])
def test_rights_and_wrongs_are_compared_by_mcnemar(b: int, c: int) -> None:
    whole = pair(both=40, only_first=b, only_second=c, neither=20).whole
    assert whole.test == "exact McNemar" and whole.shared == 60 + b + c
    assert whole.p_value == pytest.approx(binomtest(b, b + c).pvalue)
    assert (whole.both_right, whole.only_first, whole.only_second) == (40, b, c)
    assert whole.estimate.value == pytest.approx((b - c) / whole.shared)
    assert whole.first == pytest.approx((40 + b) / whole.shared)


def test_the_three_verdicts() -> None:
    assert pair(both=50, only_first=15, only_second=5, neither=30).verdict == "first better"
    assert pair(both=50, only_first=5, only_second=15, neither=30).verdict == "second better"
    assert pair(both=50, only_first=12, only_second=10, neither=28).verdict == "no difference shown"
    assert pair(both=4000, only_first=10, only_second=11, neither=4000).verdict == "practically equal"


@pytest.mark.parametrize(
    ("low", "high", "p", "verdict"),
    [
        (0.01, 0.2, 0.04, "first better"),
        (-0.2, -0.01, 0.04, "second better"),
        (0.01, 0.2, 0.06, "no difference shown"),  # the interval alone is not enough
        (-0.01, 0.2, 0.04, "no difference shown"),  # nor is the p-value
        (-0.01, 0.01, 0.9, "practically equal"),
        (0.001, 0.009, 0.2, "practically equal"),
        (0.001, 0.009, 0.01, "first better"),
        (-0.0101, 0.01, 0.9, "no difference shown"),
    ],
)
def test_better_needs_both(low: float, high: float, p: float, verdict: str) -> None:
    plain = pair(both=5, only_first=1, only_second=1, neither=3).whole
    measured = Estimate((low + high) / 2, 0.01, low, high, 10, 10, "by hand")
    judgement = judged(Difference(**{**_fields(plain), "estimate": measured}), p, 0.01)
    assert judgement.verdict == verdict and judgement.adjusted_p == p


def _fields(d: Difference) -> dict[str, object]:
    return {name: getattr(d, name) for name in d.__dataclass_fields__}


def test_holm_over_the_request_and_benjamini_hochberg_over_tasks() -> None:
    first, second = table(50, 15, 5, 30)
    third, _ = table(50, 14, 4, 32)
    pairs = compared([(run("a"), first), (run("b"), second), (run("c"), third)])
    known = sorted(p.whole.p_value for p in pairs if p.whole.p_value is not None)
    smallest = min(pairs, key=lambda p: p.whole.p_value or 0)
    assert smallest.whole.adjusted_p == pytest.approx(min(1.0, 3 * known[0]))


def test_runs_without_a_shared_item_cannot_be_compared() -> None:
    (c,) = compared([(run("a"), scored([1.0])), (run("b"), scored([1.0], prefix="other"))])
    assert c.whole.estimate.value is None and c.whole.p_value is None
    assert c.whole.estimate.reason == "the two runs share no scored item"


def test_items_with_other_content_are_not_shared() -> None:
    first = [row("q/1", 1.0), row("q/2", 0.0)]
    second = [row("q/1", 1.0), row("q/2", 1.0, content="something else")]
    assert one(first, second).shared == 1


# Metrics on the table of answers -----------------------------------------------------------------


def test_mcc_and_f1_are_those_of_scikit_learn_on_the_shared_items() -> None:
    targets, a = drawn(80, 0.8, ["no", "yes"], 1)
    _, b = drawn(80, 0.8, ["no", "yes"], 1)
    b = [x if i % 5 else "no" for i, x in enumerate(b)]
    whole = one(answered(targets, a), answered(targets, b), LABELS)
    assert whole.first == pytest.approx(matthews_corrcoef(targets, a))
    assert whole.second == pytest.approx(matthews_corrcoef(targets, b))
    assert whole.estimate.value == pytest.approx((whole.first or 0) - (whole.second or 0))
    both = one(answered(targets, a), answered(targets, b), F1)
    assert both.metric == "f1 + accuracy"
    f1 = f1_score(targets, a, pos_label="yes")
    assert both.first == pytest.approx((f1 + np.mean([x == y for x, y in zip(targets, a, strict=True)])) / 2)


@pytest.mark.slow
def test_approximate_randomisation_against_every_exchange() -> None:
    targets, a = drawn(30, 0.9, ["no", "yes"], 4)  # nine discordant items: all 512 exchanges are gone through
    b = list(a)
    for i in range(9):
        b[i] = "yes" if b[i] == "no" else "no"
    observed = matthews_corrcoef(targets, a) - matthews_corrcoef(targets, b)
    far = 0
    for swaps in itertools.product([False, True], repeat=9):
        x = [b[i] if i < 9 and swaps[i] else a[i] for i in range(30)]
        y = [a[i] if i < 9 and swaps[i] else b[i] for i in range(30)]
        far += abs(matthews_corrcoef(targets, x) - matthews_corrcoef(targets, y)) >= abs(observed) - 1e-12
    whole = one(answered(targets, a), answered(targets, b), LABELS)
    assert whole.test == "approximate randomisation"
    assert whole.p_value == pytest.approx(far / 512, abs=0.02)


def test_counting_and_tossing_agree() -> None:
    """The table's quick way gives what exchanging unit by unit gives; clusters of one item force the slow one."""
    targets, a = drawn(120, 0.7, ["a", "b", "c"], 2)
    _, b = drawn(120, 0.7, ["a", "b", "c"], 3)
    quick = one(answered(targets, a), answered(targets, b), THREE)
    twice = [
        Scored(**{**{n: getattr(r, n) for n in r.__dataclass_fields__}, "repeat": k})
        for r in answered(targets, a)
        for k in (0, 1)
    ]
    slow = one(twice, answered(targets, b), THREE)
    assert slow.first == pytest.approx(quick.first) and slow.shared == quick.shared
    assert slow.p_value == pytest.approx(quick.p_value, abs=0.04)
    assert slow.estimate.low == pytest.approx(quick.estimate.low, abs=0.02)
    assert slow.estimate.high == pytest.approx(quick.estimate.high, abs=0.02)


def test_two_runs_that_never_disagree_have_an_interval() -> None:
    targets, a = drawn(40, 0.9, ["no", "yes"], 6)
    for spec in (PLAIN, LABELS, F1):
        whole = one(answered(targets, a), answered(targets, a), spec)
        assert whole.p_value == 1 and whole.estimate.value == 0
        assert (whole.estimate.low or 0) < -0.01 and (whole.estimate.high or 0) > 0.01


# Graded scores, clusters, numbers ----------------------------------------------------------------


def test_graded_scores_are_compared_by_flipping_signs() -> None:
    chance = random.Random(3)
    a, b = ([chance.choice([0.0, 1 / 3, 2 / 3, 1.0]) for _ in range(14)] for _ in range(2))
    whole = one(scored(a), scored(b))
    exact = permutation_test(
        (np.array(a), np.array(b)),
        lambda x, y: np.mean(x - y),
        permutation_type="samples",
        n_resamples=np.inf,
    )
    assert whole.test == "sign-flip permutation"
    assert whole.p_value == pytest.approx(exact.pvalue, abs=0.02)
    assert whole.estimate.method == "Student's t of the paired differences"


def test_whole_clusters_are_flipped() -> None:
    """Ten passages of five questions, each passage all right in one run: 50 items that are worth ten."""
    clusters = [f"p{i // 5}" for i in range(50)]
    targets = ["yes"] * 50
    a = ["yes" if i // 5 < 8 else "no" for i in range(50)]
    b = ["no" if i // 5 < 8 else "yes" for i in range(50)]
    alone = one(answered(targets, a), answered(targets, b))
    together = one(answered(targets, a, clusters=clusters), answered(targets, b, clusters=clusters))
    assert alone.p_value is not None and alone.p_value < 0.0001
    assert together.test == "sign-flip permutation of clusters"
    assert together.p_value == pytest.approx(binomtest(8, 10).pvalue, abs=0.02)
    assert (together.estimate.high or 0) - (together.estimate.low or 0) > 0.6


def test_numbers_are_compared_by_their_correlations() -> None:
    spec = TaskShape("Numbers", official=("pearson", "spearman"), kind="number")
    chance = random.Random(5)
    targets = [str(round(chance.random() * 5, 2)) for _ in range(60)]
    good = [str(float(t) + chance.gauss(0, 0.3)) for t in targets]
    poor = [str(float(t) + chance.gauss(0, 3)) for t in targets]
    whole = one(answered(targets, good), answered(targets, poor), spec)
    assert whole.p_value is not None and whole.p_value < 0.01 and (whole.estimate.low or 0) > 0
    same = one(answered(targets, good), answered(targets, good), spec)
    assert same.p_value == 1 and (same.estimate.low or 0) < 0 < (same.estimate.high or 0)


def test_repeats_count_an_item_once() -> None:
    first = [row(f"q/{i}", float(i % 3 == k), repeat=k) for i in range(30) for k in range(3)]
    second = [row(f"q/{i}", float(i % 3 == 0), repeat=k) for i in range(30) for k in range(3)]
    whole = one(first, second)
    assert whole.shared == 30 and whole.test == "sign-flip permutation"


# Suites ------------------------------------------------------------------------------------------


def suite(seed: int) -> tuple[list[Scored], list[Scored], Shape]:
    sides: list[list[Scored]] = [[], []]
    for task, names in (("one", ["no", "yes"]), ("two", ["no", "yes"]), ("three", ["a", "b", "c"])):
        targets, a = drawn(60, 0.85, names, seed)
        _, b = drawn(60, 0.7, names, seed)
        sides[0] += answered(targets, a, task)
        sides[1] += answered(targets, b, task)
    shape = Shape("Suite", {"one": LABELS, "two": F1, "three": THREE}, "macro")
    return sides[0], sides[1], shape


def test_a_suite_is_compared_by_its_headline() -> None:
    first, second, shape = suite(1)
    whole, tasks = differences(first, second, shape)
    assert (
        whole.metric == "score" and whole.shared == 180 and [d.task for d in tasks] == ["one", "two", "three"]
    )
    assert whole.first == pytest.approx(scores(first, shape)[0].estimate.value)
    assert whole.second == pytest.approx(scores(second, shape)[0].estimate.value)
    assert whole.estimate.value == pytest.approx(sum(d.estimate.value or 0 for d in tasks) / 3)


def test_tasks_weigh_as_their_full_sets() -> None:
    """40 items of a small task and 40 of a large one; the large one decides."""
    small, large = TaskShape("Small", full_size=40), TaskShape("Large", full_size=4000)
    shape = Shape("Suite", {"s": small, "l": large}, "micro")
    first = scored([1.0] * 40, prefix="s", task="s") + scored([0.0] * 20 + [1.0] * 20, prefix="l", task="l")
    second = scored([0.0] * 40, prefix="s", task="s") + scored([1.0] * 40, prefix="l", task="l")
    whole, _ = differences(first, second, shape)
    assert whole.first == pytest.approx(scores(first, shape)[0].estimate.value)
    assert whole.estimate.value == pytest.approx((40 - 2000) / 4040)
    assert whole.test == "sign-flip permutation" and (whole.estimate.high or 0) < 0
    equal, _ = differences(first, second, Shape("Suite", {"s": PLAIN, "l": PLAIN}, "micro"))
    assert equal.test == "exact McNemar"


def test_extras_are_no_part_of_the_whole() -> None:
    first, second, shape = suite(2)
    aside = TaskShape("Aside", extra=True)
    more = Shape("Suite", {**shape.tasks, "x": aside}, "macro")
    extra = scored([1.0] * 30, prefix="x", task="x"), scored([0.0] * 30, prefix="x", task="x")
    with_it, tasks = differences(first + extra[0], second + extra[1], more)
    without, _ = differences(first, second, shape)
    assert with_it == without and tasks[-1].title == "Aside" and tasks[-1].estimate.value == 1


def test_another_metric_is_its_mean_over_the_tasks_that_report_it() -> None:
    first, second, shape = suite(3)
    whole, tasks = differences(first, second, focused(shape, "accuracy"))
    assert [d.task for d in tasks] == ["one", "two"] and whole.metric == "accuracy, mean of 2 tasks"
    assert whole.first == pytest.approx(np.mean([d.first for d in tasks]))
    assert focused(shape, "score") is shape
    with pytest.raises(ConfigError, match="reports no 'bleu'; metrics: score, mcc, accuracy, f1, macro_f1"):
        focused(shape, "bleu")


# What must hold for all --------------------------------------------------------------------------

RIGHTS = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60)


@settings(max_examples=60, deadline=None)
@given(RIGHTS)
def test_the_verdict_never_contradicts_p_or_interval(rights: list[tuple[bool, bool]]) -> None:
    a, b = ([float(pair[side]) for pair in rights] for side in (0, 1))
    (c,) = compared([(run("a"), scored(a)), (run("b"), scored(b))])
    d = c.whole
    assert d.estimate.low is not None and d.estimate.high is not None and d.adjusted_p is not None
    assert d.estimate.low <= (d.estimate.value or 0) <= d.estimate.high and d.estimate.low < d.estimate.high
    if "better" in c.verdict:
        assert d.adjusted_p < 0.05 and (d.estimate.low > 0) == (c.verdict == "first better")
        assert not d.estimate.low <= 0 <= d.estimate.high
    assert d.detectable is None or d.detectable > 0  # None of so few that nothing is shown


@settings(max_examples=25, deadline=None)
@given(RIGHTS, st.sampled_from([PLAIN, LABELS, F1]), st.randoms())
def test_order_and_errors_change_nothing(
    rights: list[tuple[bool, bool]], spec: TaskShape, chance: random.Random
) -> None:
    targets = ["yes" if i % 2 else "no" for i in range(len(rights))]
    sides = [
        answered(
            targets,
            [
                t if right[side] else {"yes": "no", "no": "yes"}[t]
                for t, right in zip(targets, rights, strict=True)
            ],
        )
        for side in (0, 1)
    ]
    d = one(*sides, spec)
    shuffled = [chance.sample(side, len(side)) for side in sides]
    assert one(*shuffled, spec) == d
    assert one([*sides[0], row("q/error", None)], [*sides[1], row("q/error", 1.0)], spec) == d
    turned = one(sides[1], sides[0], spec)
    assert turned.p_value == d.p_value
    assert turned.estimate.low == pytest.approx(-(d.estimate.high or 0))
    assert one(sides[0], sides[0], spec).p_value == 1


def test_a_better_model_is_found() -> None:
    first, second, shape = suite(1)
    whole, _ = differences(first, second, shape)
    assert whole.p_value is not None and whole.p_value < 0.05 and (whole.estimate.low or 0) > 0


# Several runs at once ----------------------------------------------------------------------------


def test_the_joint_bootstrap_draws_the_same_items_for_all() -> None:
    first, second, shape = suite(4)
    found = resampled([first, second, first], shape)
    assert found.shape == (2000, 3) and (found[:, 0] == found[:, 2]).all()
    assert found[:, 0].mean() == pytest.approx(scores(first, shape)[0].estimate.value or 0, abs=0.02)
    whole, _ = differences(first, second, shape)
    spread = (found[:, 0] - found[:, 1]).std()
    assert spread == pytest.approx(whole.estimate.stderr, rel=0.2)


# Many small tasks --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 20])
def test_a_difference_over_many_small_tasks_has_the_width_it_needs(n: int) -> None:
    """As of one run's score: what 57 draws are too narrow by adds up."""
    rng = np.random.default_rng(157)
    shape = Shape("Suite", {f"t{k}": TaskShape(f"T{k}") for k in range(57)}, "macro")
    errors, held = [], 0
    for _ in range(40):
        first, second = (
            [row(f"{t}/{i}", float(rng.random() < able), task=t) for t in shape.tasks for i in range(n)]
            for able in (0.6, 0.5)
        )
        e = differences(first, second, shape, tasks=False)[0].estimate
        assert e.low is not None and e.high is not None
        held += e.low <= 0.1 <= e.high
        errors.append(e.stderr)
    true = ((0.6 * 0.4 + 0.5 * 0.5) / n / 57) ** 0.5
    assert np.mean(errors) == pytest.approx(true, rel=0.04)
    assert held >= 35  # of 40: fewer have a probability of 0.3 % at 95 %


@pytest.mark.parametrize("n", [3, 6, 40])
def test_no_difference_of_shares_is_larger_than_one(n: int) -> None:
    tasks = {key: spec for key, spec in SUITES["superglue"].items() if not spec.extra}
    first, second = (
        [row for key, spec in tasks.items() for row in exam_rows(key, spec, way, n)]
        for way in ("perfect", "wrong")
    )
    whole, each = differences(first, second, Shape("SuperGLUE", tasks, "macro"))
    for found in (whole, *each):
        e = found.estimate
        if e.low is not None and e.high is not None:
            assert -1.0 <= e.low <= e.high <= 1.0, found
