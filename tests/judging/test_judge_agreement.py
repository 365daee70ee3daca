"""How far a judge and people agree, which way the judge leans, and what more labels buy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from proctor.stats.judged.agreement import agree, judge_and_people, kappa
from proctor.stats.judged.leanings import (
    BothOrders,
    Preferred,
    consistency,
    longer_excess,
    longer_graded,
    longer_wins,
    position_preference,
)
from proctor.stats.judged.needed import labels_for, labels_to
from proctor.stats.judged.prediction import corrected_difference, corrected_mean
from proctor.stats.outputs.labels import LabelCount

SCALE = ("1", "2", "3", "4", "5")


def graded(seed: int, items: int, same: float, grades: Sequence[str]) -> tuple[list[str], list[str]]:
    random = np.random.default_rng(seed)
    first = random.choice(len(grades), size=items)
    second = np.where(random.random(items) < same, first, random.choice(len(grades), size=items))
    return [grades[i] for i in first], [grades[i] for i in second]


def test_kappa_is_that_of_scikit_learn_and_its_standard_error_is_published() -> None:
    for seed, (items, same) in enumerate(((30, 0.9), (200, 0.5), (500, 0.2), (60, 0.0))):
        one, two = graded(seed, items, same, SCALE)
        plain, ordered = kappa(one, two, SCALE), kappa(one, two, SCALE, ordered=True)
        assert plain.value == pytest.approx(cohen_kappa_score(one, two))
        assert ordered.value == pytest.approx(cohen_kappa_score(one, two, weights="quadratic"))
        count = LabelCount()
        for pair in zip(one, two, strict=True):
            count.add(*pair)
        assert plain.stderr == pytest.approx(count.estimate().stderr)
        # The weighted one has no second implementation here: leaving one item out at a time says about the same.
        left = [
            kappa(one[:i] + one[i + 1 :], two[:i] + two[i + 1 :], SCALE, ordered=True).value
            for i in range(0, items, max(1, items // 60))
        ]
        told = np.std(left) * (items - 1) / items**0.5
        assert ordered.stderr == pytest.approx(told, rel=0.35)
        for found in (plain, ordered):
            assert found.low < found.value < found.high and found.scored == items


def test_labellers_of_pandalm_agree_as_published(shared: Path) -> None:
    """README of PandaLM: 0.85, 0.88 and 0.86; recomputed from its file 0.8520, 0.8789 and 0.8617."""
    lines = (shared / "data/open/pandalm_testset.jsonl").read_text(encoding="utf-8").splitlines()
    told = [[str(vote) for vote in json.loads(line)["annotators"]] for line in lines]
    every = sorted({vote for votes in told for vote in votes})
    pairs = ((0, 1), (0, 2), (1, 2))
    found = [kappa([v[i] for v in told], [v[j] for v in told], every) for i, j in pairs]
    assert sorted(round(each.value, 4) for each in found) == [0.8520, 0.8617, 0.8789]
    for each in found:
        assert 0.04 < each.high - each.low < 0.08 and each.scored == 999


def test_the_table_says_where_judge_and_people_part() -> None:
    judge = ["pass"] * 60 + ["fail"] * 40
    people = ["pass"] * 45 + ["fail"] * 15 + ["pass"] * 10 + ["fail"] * 30
    found = judge_and_people(judge, people, ("pass", "fail"))
    assert found.table == ((45, 15), (10, 30)) and found.share.value == 0.75
    assert [each.value for each in found.judge_right] == [0.75, 0.75]
    assert [each.value for each in found.people_met] == pytest.approx([45 / 55, 30 / 45])
    assert found.people_met[1].scored == 45 and found.judge_right[0].low < 0.75 < found.judge_right[0].high
    assert found.kappa == kappa(judge, people, ("pass", "fail"))
    assert judge_and_people(judge, people, ("pass", "fail", "skip")).judge_right[2].value is None


def test_tables_without_two_grades_have_no_kappa_and_full_agreement_still_has_an_interval() -> None:
    assert kappa([], [], ("a", "b")).reason == "no item has a grade of both" == agree([], []).reason
    one = kappa(["a"] * 30, ["a"] * 30, ("a", "b"))
    assert one.value is None and "one and the same grade" in (one.reason or "") and one.asked == 30
    never = kappa(["a"] * 30, ["a", "b"] * 15, ("a", "b"))  # one of them gave one grade throughout
    assert never.value == 0.0 and never.low < 0 < never.high
    few, more = (kappa("ab" * n, "ab" * n, "ab") for n in (10, 100))
    assert few.value == more.value == few.high == 1.0 and 0.6 < few.low < 0.95 < more.low < 1
    with pytest.raises(ValueError, match="'c' is none of a, b"):
        kappa("ac", "ab", "ab")


def test_the_interval_of_kappa_holds_the_truth_in_small_tables() -> None:
    held, random = 0, np.random.default_rng(3)
    for _ in range(120):  # 30 items, 80 % "pass", both right about 90 %: kappa 0.5322 in truth
        told = random.random(30) < 0.8
        first, second = (np.where(random.random(30) < 0.9, told, ~told) for _ in range(2))
        found = kappa(["fp"[int(x)] for x in first], ["fp"[int(x)] for x in second], "fp")
        held += found.low is None or found.low <= 0.5322 <= found.high
    assert held >= 0.9 * 120


# Leanings ----------------------------------------------------------------------------------------


def orders(verdicts: Sequence[tuple[float | None, float | None]]) -> list[BothOrders]:
    return [BothOrders(f"p{i}", *both) for i, both in enumerate(verdicts)]


def test_a_judge_that_prefers_what_stands_first_is_told_from_a_consistent_one() -> None:
    first = orders([(1, 0)] * 40)  # in either order the reply shown first won
    sure = orders([(1, 1)] * 20 + [(0, 0)] * 20)
    assert position_preference(first).value == 1.0 and position_preference(first).low > 0.9
    assert consistency(first).value == 0.0 and consistency(sure).value == 1.0
    even = position_preference(sure)
    assert even.value == 0.5 and even.low < 0.5 < even.high and even.scored == 80
    mixed = orders([(1, 0), (1, 1), (0.5, 0), (None, 1), (0.5, 0.5), (0, 1)])
    # Decisive: 1 and 0 (won first, won first), 1 and 1 (first, second), 0 (first), 1 (second), 0 and 1 (second, second)
    assert position_preference(mixed).value == pytest.approx(4 / 8) and position_preference(mixed).scored == 8
    assert consistency(mixed).value == pytest.approx(2 / 5) and consistency(mixed).scored == 5
    assert position_preference([]).value is None is consistency(orders([(1, None)])).value


def test_longer_replies_win_more_often_with_the_judge_than_with_people() -> None:
    random = np.random.default_rng(4)
    judge, people = [], []
    for i in range(300):
        lengths = (int(random.integers(10, 99)), int(random.integers(100, 200)))
        if random.random() < 0.5:
            lengths = lengths[::-1]
        told = float(random.random() < 0.5)
        longer = float(lengths[0] > lengths[1])
        people.append(Preferred(f"p{i}", told, *lengths))
        judge.append(Preferred(f"p{i}", longer if random.random() < 0.4 else told, *lengths))
    said, told_by = longer_wins(judge), longer_wins(people)
    excess = longer_excess(judge, people)
    assert said.value > 0.62 and said.low > told_by.value and told_by.value < 0.55
    assert excess.value == pytest.approx(said.value - told_by.value) and excess.low > 0.1
    same = [Preferred("p", 1.0, 7, 7), Preferred("q", 0.5, 8, 7)]
    assert longer_wins(same).value is None and longer_excess(same, same).value == 0.0


def test_longer_replies_are_graded_higher_only_if_so_at_equal_grades_of_people() -> None:
    random = np.random.default_rng(5)
    people = (random.random(600) < 0.6).astype(float)
    lengths = 100 + 80 * people + random.normal(0, 40, size=600)  # right replies are longer
    fair = np.where(random.random(600) < 0.9, people, 1 - people)
    drawn = np.where((lengths > 110 + 70 * people) & (random.random(600) < 0.5), 1.0, fair)
    plain = longer_graded(lengths.tolist(), fair.tolist())
    held = longer_graded(lengths.tolist(), fair.tolist(), people.tolist())
    biased = longer_graded(lengths.tolist(), drawn.tolist(), people.tolist())
    assert plain.low > 0.2 and held.low < 0 < held.high and biased.low > 0.02
    # Mantel and Haenszel's difference, by hand.
    parts, weights = [], []
    for grade in (0.0, 1.0):
        at, size = fair[people == grade], lengths[people == grade]
        long, short = at[size > np.median(size)], at[size < np.median(size)]
        weights.append(len(long) * len(short) / (len(long) + len(short)))
        parts.append(long.mean() - short.mean())
    assert held.value == pytest.approx(np.average(parts, weights=weights)) and "Mantel" in held.method
    assert longer_graded([1, 1], [0, 1]).value is None
    assert longer_graded([5, 6] * 20, [1.0] * 40).high > 0  # all alike still has an interval with width


# What more labels buy ----------------------------------------------------------------------------


def judged(seed: int, items: int, right: float) -> tuple[list[float], list[float]]:
    random = np.random.default_rng(seed)
    told = random.random(items) < 0.7
    return told.astype(float).tolist(), np.where(random.random(items) < right, told, ~told).astype(
        float
    ).tolist()


@pytest.mark.parametrize(("right", "labels"), [(0.9, 60), (0.55, 60), (0.9, 20)])
def test_the_width_foretold_is_the_width_that_comes(right: float, labels: int) -> None:
    ratios = []
    for seed in range(12):
        told, said = judged(seed, 1000, right)
        ahead = labels_for(told[:labels], said[:labels], said[labels:])
        n = labels + (ahead.more or 0)
        come = corrected_mean(told[:n], said[:n], said[n:]).quoted
        ratios.append((come.high - come.low) / ahead.then)
        assert ahead.floor < ahead.then <= 0.85 * ahead.width and ahead.left == 1000 - labels
        assert ahead.sentence == (
            f"the interval is {ahead.width:.2f} wide; {ahead.more} more make it {ahead.then:.2f}"
        )
        assert labels_to(ahead.then, told[:labels], said[:labels], said[labels:]) == ahead.more
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.1)


def test_what_labels_cannot_do_is_said() -> None:
    told, said = judged(1, 1000, 0.9)
    assert labels_to(0.01, told[:60], said[:60], said[60:]) is None
    assert labels_to(0.9, told[:60], said[:60], said[60:]) == 0
    whole, last = labels_for(told, said, []), labels_for(told[:900], said[:900], said[900:])
    assert (
        whole.sentence.endswith("every item has a label")
        and whole.floor == whole.width
        and whole.more is None
    )
    assert last.more == 100 and last.then == last.floor and "the items themselves differ" in last.sentence
    none = labels_for([], [], said)
    assert none.width is none.more is None and "two labels" in none.sentence and none.left == 1000
    apart = [a - b for a, b in zip(told, judged(2, 1000, 0.9)[0], strict=True)]
    keys = [f"c{i // 4}" for i in range(1000)]
    clusters = keys[:80], keys[80:]
    found = labels_for(apart[:80], said[:80], said[80:], clusters=clusters, kind="differences")
    now = corrected_difference(apart[:80], said[:80], said[80:], clusters=clusters).quoted
    assert found.width == now.high - now.low and found.then < found.width
