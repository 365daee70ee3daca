"""Metrics against scikit-learn, scipy and literals: the oracles share no line with the code."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as oracle

from proctor.stats import metrics

pytestmark = pytest.mark.slow

LABELS = ("no", "yes", "maybe")
UNREAD = "(unread)"
ANSWERED = st.lists(
    st.tuples(st.sampled_from(LABELS), st.sampled_from([*LABELS, None])), min_size=1, max_size=60
)
BINARY = st.lists(
    st.tuples(st.sampled_from("01"), st.sampled_from(["0", "1", None])), min_size=1, max_size=60
)
NUMBERS = st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=2, max_size=40)


def split(rows: list[tuple[str, str | None]]) -> tuple[list[str], list[str | None], list[str]]:
    """Targets, answers, and answers with a name of its own for the unread."""
    return [t for t, _ in rows], [a for _, a in rows], [a or UNREAD for _, a in rows]


def sure(rows: list[tuple[str, str | None]]) -> tuple[list[str], list[str | None], list[str]]:
    """The same for two labels: an unread answer is the other label than the target."""
    targets, answers, _ = split(rows)
    return targets, answers, [a or {"0": "1", "1": "0"}[t] for t, a in rows]


def sklearn_mcc(targets: list[str], answers: list[str]) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it warns of a single label
        return float(oracle.matthews_corrcoef(targets, answers))


@settings(deadline=None)
@given(ANSWERED)
def test_with_three_labels_the_unread_are_a_column_that_matches_nothing(
    rows: list[tuple[str, str | None]],
) -> None:
    targets, answers, named = split(rows)
    table = metrics.confusion(targets, answers, LABELS)
    assert float(metrics.accuracy(table)) == pytest.approx(oracle.accuracy_score(targets, named))
    assert float(metrics.mcc(table)) == pytest.approx(sklearn_mcc(targets, named), abs=1e-12)
    theirs = oracle.f1_score(targets, named, labels=list(LABELS), average="macro", zero_division=0)
    assert float(metrics.macro_f1(table)) == pytest.approx(theirs)


@settings(deadline=None)
@given(BINARY)
def test_with_two_labels_the_unread_are_the_other_label(rows: list[tuple[str, str | None]]) -> None:
    targets, answers, named = sure(rows)
    table = metrics.confusion(targets, answers, "01")
    assert table.sum() == len(rows) and not table[:, -1].any()
    assert float(metrics.accuracy(table)) == pytest.approx(oracle.accuracy_score(targets, named))
    assert float(metrics.mcc(table)) == pytest.approx(sklearn_mcc(targets, named), abs=1e-12)
    for place, positive in enumerate("01"):
        theirs = oracle.f1_score(targets, named, pos_label=positive, zero_division=0)
        assert float(metrics.f1(table, place)) == pytest.approx(theirs)


def test_mcc_literal() -> None:
    targets, answers = "1" * 8 + "0" * 4, "1" * 6 + "00" + "000" + "1"
    table = metrics.confusion(list(targets), list(answers), "01")
    assert table.tolist() == [[3.0, 1.0, 0.0], [2.0, 6.0, 0.0]]
    assert float(metrics.mcc(table)) == pytest.approx(0.478091, abs=5e-7)
    assert float(metrics.f1(table, 1)) == pytest.approx(12 / 15)


def test_an_answer_that_is_no_label_is_as_wrong_as_none() -> None:
    rows = ["yes", "no"], ["perhaps", "no"], ["yes", None]
    one, other = (
        metrics.confusion(rows[0], answers, LABELS) for answers in (["perhaps", "no"], [None, "no"])
    )
    assert one.tolist() == other.tolist()


def test_only_one_label_answered_has_no_correlation() -> None:
    for answers in (["1"] * 4, ["0"] * 4):
        assert float(metrics.mcc(metrics.confusion(list("0110"), answers, "01"))) == 0.0
    assert float(metrics.mcc(metrics.confusion(list("11"), ["1", "0"], "01"))) == 0.0


@settings(deadline=None)
@given(ANSWERED, ANSWERED)
def test_tables_may_come_many_at_once(
    one: list[tuple[str, str | None]], other: list[tuple[str, str | None]]
) -> None:
    tables = [metrics.confusion(*split(rows)[:2], LABELS) for rows in (one, other)]
    for metric in (metrics.accuracy, metrics.mcc, metrics.macro_f1):
        assert metric(np.stack(tables)).tolist() == [float(metric(table)) for table in tables]


@settings(deadline=None)
@given(NUMBERS)
def test_correlations_are_scipys(pairs: list[tuple[int, int]]) -> None:
    x, y = (np.array([pair[i] / 2 for pair in pairs]) for i in (0, 1))
    assume(len(set(x)) > 1 and len(set(y)) > 1)
    ones = np.ones(len(x))
    assert float(metrics.pearson(x, y, ones)) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)
    assert float(metrics.spearman(x, y, ones)) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert metrics.mid_ranks(x, ones) + 0.5 == pytest.approx(stats.rankdata(x))


@settings(deadline=None)
@given(NUMBERS, st.data())
def test_a_weight_is_a_number_of_copies(pairs: list[tuple[int, int]], data: st.DataObject) -> None:
    """This is what a resampled exam is; a row of the result stands for one exam."""
    times = data.draw(st.lists(st.integers(0, 3), min_size=len(pairs), max_size=len(pairs)))
    x, y = (np.array([float(pair[i]) for pair in pairs]) for i in (0, 1))
    copies_x, copies_y = np.repeat(x, times), np.repeat(y, times)
    assume(len(set(copies_x)) > 1 and len(set(copies_y)) > 1)
    weights = np.array([times, [1] * len(times)], dtype=float)
    for ours, theirs in ((metrics.pearson, stats.pearsonr), (metrics.spearman, stats.spearmanr)):
        assert ours(x, y, weights)[0] == pytest.approx(theirs(copies_x, copies_y).statistic, abs=1e-9)
        assert ours(x, y, weights)[1] == pytest.approx(float(ours(x, y, np.ones(len(x)))), abs=1e-12)


@pytest.mark.parametrize("constant", [0.0, 3.8, 2.5, 1e-9, 1234567.1])
def test_a_constant_correlates_with_nothing(constant: float) -> None:
    x, y = np.linspace(0, 5, 37), np.full(37, constant)
    for metric in (metrics.pearson, metrics.spearman):
        assert float(metric(x, y, np.ones(37))) == float(metric(y, x, np.ones(37))) == 0.0
        assert float(metric(x, x, np.ones(37))) == 1.0
        assert float(metric(x, -x, np.ones(37))) == -1.0


@pytest.mark.parametrize(
    ("answer", "golds", "f1"),
    [
        ("The U.S. Army", ["US army"], 1.0),
        ("Barack Obama", ["Obama", "President Obama"], 2 / 3),
        ("an apple a day", ["apple day"], 1.0),
        ("New York City", ["New York"], 0.8),
        ("york york", ["york"], 2 / 3),
        ("Paris", ["London"], 0.0),
        (None, ["London"], 0.0),
        ("", ["London"], 0.0),
        ("the", ["a"], 1.0),
    ],
)
def test_squad_literals(answer: str | None, golds: list[str], f1: float) -> None:
    assert metrics.squad_f1(answer, golds) == pytest.approx(f1)


CHOSEN = st.frozensets(st.sampled_from("ABCDE"))


@settings(deadline=None)
@given(st.lists(st.tuples(CHOSEN, st.one_of(st.none(), CHOSEN)), min_size=1, max_size=20))
def test_f1a_is_the_binary_f1_over_all_candidates(
    rows: list[tuple[frozenset[str], frozenset[str] | None]],
) -> None:
    """Every candidate of every question is one yes or no; an unread reply is wrong about each."""
    truth, said = [], []
    for right, chosen in rows:
        truth += [letter in right for letter in "ABCDE"]
        said += [(letter not in right) if chosen is None else letter in chosen for letter in "ABCDE"]

    def written(chosen: frozenset[str]) -> str:
        return ",".join(sorted(chosen)) or "none"

    counts = np.array([metrics.marks(written(r), None if c is None else written(c), 5) for r, c in rows])
    ours = float(metrics.f1a(*counts.sum(axis=0).astype(float)))
    assert ours == pytest.approx(oracle.f1_score(truth, said, zero_division=0))


def test_an_unread_reply_misses_what_is_right_where_the_candidates_are_not_known() -> None:
    assert metrics.marks("A,C", None) == (0, 0, 2)
    assert metrics.marks("A,C", None, 5) == (0, 3, 2)
    assert metrics.marks("none", "none", 4) == (0, 0, 0)


def test_parity_needs_two_answers() -> None:
    assert [metrics.gender_parity(*pair) for pair in (("a", "a"), ("a", "b"), (None, None), ("a", None))] == [
        1.0,
        0.0,
        0.0,
        0.0,
    ]
