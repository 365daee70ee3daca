"""Pairs: both orders are asked, what differs between them is a tie, and both runs get their grade."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from pairs_made import Paired, judge_saying

from opened import over
from proctor.references import Criterion, GradingRubric
from proctor.service.admin.prune import delete
from proctor.service.checked.leaning import JudgeLeaning, leanings
from proctor.service.judging.settling import settle
from proctor.types import Run

FIRST = ["right a", "wrong", "either b", "the same", "odd one", "right", "tie x", "words", "half a"]
SECOND = ["wrong", "right, and longer", "either of both", "the same", "odd two", None, "tie y", "", "half b"]


def verdict(_criterion: str, first: str, second: str) -> str:
    """The right reply, whichever is first; of two that are neither, the first; of odd ones nothing in one order.

    Halves are a tie in one order.
    """
    if first.startswith("odd"):
        return "I cannot say." if "two" in first else "Answer: 1"
    if first == "half b" or first.startswith("tie"):
        return "Answer: tie"
    return f"Answer: {2 if second.startswith('right') else 1}"


@dataclass(frozen=True)
class Case:
    """Two runs judged as pairs: what was asked, and what is known of the judge."""

    made: Paired
    first: Run
    second: Run
    judging: Run
    asked: list[tuple[str, ...]]
    leaning: JudgeLeaning


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    made = Paired(tmp_path_factory.mktemp("pairs"))
    made.questions(["right"] * 9)
    first, second = made.run("qwen3:8b", FIRST), made.run("gpt-4o", SECOND)
    with judge_saying(verdict) as (url, asked):
        judging = made.judged(url, first, second)
    with made.store() as store:
        (leaning,) = leanings(over(store, made.settings), first.id)
        yield Case(made, first, second, judging, asked, leaning)


def test_a_pair_is_asked_in_both_orders_and_what_differs_between_them_is_a_tie(case: Case) -> None:
    given = case.made.grades(case.first, case.second)
    assert {name: each.score for name, each in given.items()} == {
        "q0": 1.0,
        "q1": 0.0,
        "q2": 0.5,
        "q3": 0.5,
        "q6": 0.5,
        "q7": 1.0,
        "q8": 0.5,
    }
    assert [given[f"q{n}"].answer for n in (0, 1, 2)] == ["1", "2", "tie"]
    assert given["q2"].note == "correct: tie (differs between the orders)"
    assert given["q6"].note == "correct: tie"
    assert given["q8"].note == "correct: tie (differs between the orders)"
    assert {("right a", "wrong"), ("wrong", "right a")} <= {pair[1:] for pair in case.asked}


def test_the_other_run_gets_the_mirrored_grades_under_the_name_that_says_against_whom(case: Case) -> None:
    given, mirrored = case.made.grades(case.first, case.second), case.made.grades(case.second, case.first)
    assert {name: 1 - (each.score or 0) for name, each in given.items()} == {
        name: each.score for name, each in mirrored.items()
    }
    assert [mirrored[f"q{n}"].answer for n in (0, 1, 2)] == ["2", "1", "tie"]
    assert mirrored["q1"].note == "correct: 1"


def test_an_order_without_a_readable_verdict_leaves_its_pair_ungraded_and_counted(case: Case) -> None:
    assert "q4" not in case.made.grades(case.first, case.second)
    assert (case.leaning.asked, case.leaning.ungraded) == (6, 1)
    assert "without a grade: 1 pairs, of which an order has no readable verdict" in case.leaning.told


def test_the_same_text_twice_is_a_tie_that_nobody_is_asked_about(case: Case) -> None:
    assert not [pair for pair in case.asked if "the same" in pair]
    assert case.made.grades(case.first, case.second)["q3"].note == "both replies are the same text: not asked"
    assert len(case.asked) == case.judging.planned == 12


def test_an_empty_reply_loses_to_one_with_words_unasked(case: Case) -> None:
    assert case.made.grades(case.second, case.first)["q7"].note == "one reply is empty: not asked"
    assert case.made.grades(case.second, case.first)["q7"].score == 0.0


def test_what_makes_no_pair_is_counted_with_its_reason(case: Case) -> None:
    assert case.leaning.pairs is not None
    assert case.leaning.pairs.left_out == {"a run has no reply to them": 1}
    assert "1 left out: a run has no reply to them" in case.leaning.told


def test_place_consistency_ties_and_length_are_measured_of_the_verdicts(case: Case) -> None:
    pairs = case.leaning.pairs
    assert pairs is not None
    # q0 and q1 are one win of each place, q2 two of the first place, q4 one of it; q6 is a tie in both orders, q8 in
    # one and a win of the first place in the other.
    assert pairs.first_shown.value == pytest.approx(6 / 8)
    assert [pairs.consistent.value, pairs.consistent.scored] == pytest.approx([3 / 5, 5])
    assert [pairs.ties.value, pairs.ties.scored] == pytest.approx([3 / 5, 5])
    assert (case.leaning.length.judge.value, case.leaning.length.judge.scored) == (1.0, 2)


def test_a_judge_of_the_family_of_a_candidate_is_named(case: Case) -> None:
    (kin,) = case.leaning.kin
    assert "openai/qwen2.5:7b and replay/qwen3:8b" in kin and "(Qwen)" in kin


WEIGHED = GradingRubric(
    "two", (Criterion("kind", "Is it kind?", weight=1.0), Criterion("short", "Is it short?", weight=3.0))
)


def by_criterion(criterion: str, first: str, second: str) -> str:
    """Kind are the replies of the first run; short is the shorter one, and of equal ones what stands first."""
    if criterion == "Is it kind?":
        return f"Answer: {1 if first.startswith('a') else 2}"
    return f"Answer: {1 if len(first) <= len(second) else 2}"


@pytest.mark.slow
def test_criteria_are_weighed_repeats_paired_and_votes_counted_by_their_majority(tmp_path: Path) -> None:
    made = Paired(tmp_path)
    made.questions(["x", "x"])
    first = made.run("one", [["a", "aaa"], ["a", "a"]], repeats=2)
    second = made.run("two", [["bb", "b"], ["b", "bbbb"]], repeats=2)
    with judge_saying(by_criterion) as (url, asked):
        made.judged(url, first, second, rubric=WEIGHED)
        assert len(asked) == 2 * 2 * 2 * 2  # questions, repeats, criteria, orders
    given = made.grades(first, second)
    assert {name: each.score for name, each in given.items()} == {
        "q0/0": 1.0,
        "q0/1": 0.25,
        "q1/0": (1 + 3 * 0.5) / 4,
        "q1/1": 1.0,
    }
    assert given["q1/0"].note == "kind: 1; short: tie (differs between the orders)"
    assert given["q0/1"].note == "kind: 1; short: 2"

    heard: dict[tuple[str, str], Iterator[int]] = defaultdict(count)

    def two_of_three(_: str, first: str, second: str) -> str:
        return f"Answer: {1 if first.startswith('a') == (next(heard[first, second]) % 3 < 2) else 2}"

    one, two = made.run("three", ["a", "aaa"]), made.run("four", ["b", "bb"])
    with judge_saying(two_of_three) as (url, asked):
        made.judged(url, one, two, votes=3)
    assert len(asked) == 2 * 2 * 3
    told = made.grades(one, two, votes=3).values()
    assert [(each.score, each.note) for each in told] == [(1.0, "correct: 1")] * 2


@pytest.mark.slow
def test_of_pairs_whose_other_run_was_deleted_the_grades_stay_and_nothing_fails(tmp_path: Path) -> None:
    made = Paired(tmp_path)
    made.questions(["x"])
    first, second = made.run("one", ["right"]), made.run("two", ["wrong"])
    with judge_saying(verdict) as (url, _):
        judging = made.judged(url, first, second)
    with made.store() as store:
        context = over(store, made.settings)
        assert len(leanings(context, first.id)) == 1
        delete(context, second.id)
        assert leanings(context, first.id) == ()
        settle(store, store.run(judging.id))
    assert made.grades(first, second)["q0"].score == 1.0
