"""The tables of a comparison: verdicts with names, what they rest on, and tasks one by one."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations

import pytest
from report_examples import (
    NOW,
    TANGO,
    compared,
    difference,
    estimate,
    result,
    run,
    score,
    table_named,
    table_of,
    text_of,
    three,
    two_suites,
)

from proctor.findings import Estimate, Evaluation
from proctor.report.blocks import Table
from proctor.report.page import page_of


@pytest.mark.parametrize(
    ("p", "written"),
    [(None, "-"), (1.0, "1"), (0.9999, "1"), (0.03125, "0.031"), (0.00042, "0.0004"), (1e-9, "< 0.0001")],
)
def test_roundings_of_p_values(p: float | None, written: str) -> None:
    a, b = run("a"), run("b")
    pair = compared(a, b, p_value=p, adjusted_p=p)
    rows = table_of(Evaluation("p", (result(a), result(b)), (pair,), "v"), "Every pair")
    assert rows["ollama/a and ollama/b"][4:6] == (written, written)


def test_a_pair_shows_both_scores_their_difference_and_who_is_better() -> None:
    rows = table_of(three(), "Every pair of models by accuracy")
    assert rows["ollama/llama3.1:8b and ollama/gemma2:2b"] == (
        "0.730",
        "0.712",
        "0.018",
        "[-0.014, 0.050]",
        "0.328",
        "0.328",
        "no difference shown",
    )
    assert rows["ollama/qwen2.5:7b-instruct and ollama/gemma2:2b"][-1] == "ollama/qwen2.5:7b-instruct better"


def test_a_pair_shows_what_its_verdict_rests_on() -> None:
    table = table_named(three(), "What each verdict rests on")
    assert dict(zip(table.heads, table.rows[2], strict=True)) == {
        "Pair, first and second": "ollama/llama3.1:8b and ollama/gemma2:2b",
        "Shared items": "500",
        "Both right": "340",
        "Only first right": "38",
        "Only second right": "29",
        "Test": "exact McNemar",
        "Correlation": "0.530",
        "Smallest difference to be shown": "0.051",
        "Items needed": "about 180",
    }


def test_where_scores_are_no_rights_and_wrongs_nobody_is_said_to_be_right_alone() -> None:
    heads = table_named(two_suites(), "What each verdict rests on").heads
    assert "First did better" in heads
    assert "Only first right" not in heads


def test_pairs_of_different_metrics_name_them() -> None:
    of = three()
    first, *others = of.comparisons
    other = replace(first, whole=replace(first.whole, metric="mcc"))
    table = table_named(replace(of, comparisons=(other, *others)), "Every pair of models, on")
    assert [row[1] for row in table.rows] == ["mcc", "accuracy", "accuracy"]


@pytest.mark.parametrize(
    ("word", "written"),
    [
        ("first better", "ollama/a better"),
        ("second better", "ollama/b better"),
        ("practically equal", "practically equal"),
        ("no difference shown", "no difference shown"),
    ],
)
def test_verdicts_name_the_better_one_and_a_tie_has_no_winner(word: str, written: str) -> None:
    a, b = run("a"), run("b")
    pair = compared(a, b, verdict=word)
    rows = table_of(Evaluation("p", (result(a), result(b)), (pair,), "v"), "Every pair")
    assert rows["ollama/a and ollama/b"][-1] == written


def test_tasks_are_compared_one_by_one() -> None:
    table = table_named(two_suites(), "Task by task")
    assert table.caption == "Task by task, to show where to look: ollama/a (first) and ollama/b (second)"
    assert dict(zip(table.heads, table.rows[1], strict=True)) == {
        "Task": "MRPC",
        "Metric": "accuracy + f1",
        "First": "0.800",
        "Second": "0.730",
        "First minus second": "0.002",
        "95 % interval": "[-0.004, 0.008]",
        "Shared items": "500",
        "First did better": "60",
        "Second did better": "25",
        "p": "1",
        "p adjusted": "1",
        "Verdict": "practically equal",
    }
    assert table.rows[0][-2:] == ("0.020", "ollama/a better")
    assert table.rows[2][-2:] == ("< 0.0001", "ollama/b better")


def test_of_many_pairs_the_tasks_of_the_best_against_the_others_are_shown() -> None:
    of = three()
    tasks = (difference(task="boolq", title="BoolQ"), difference(task="cb", title="CB"))
    whole = replace(of, comparisons=tuple(replace(c, tasks=tasks) for c in of.comparisons))
    assert re.findall(
        r"Task by task, to show where to look: (\S+) \(first\) and (\S+) ", _captions(whole)
    ) == [
        ("ollama/qwen2.5:7b-instruct", "ollama/llama3.1:8b"),
        ("ollama/qwen2.5:7b-instruct", "ollama/gemma2:2b"),
    ]


def test_at_a_tie_for_the_best_the_tasks_of_both_are_shown() -> None:
    runs = [run(name) for name in "abc"]
    results = [result(of, [score(estimate(value))]) for of, value in zip(runs, (0.8, 0.8, 0.7), strict=True)]
    tasks = (difference(task="boolq", title="BoolQ"),)
    pairs = tuple(compared(a, b, tasks=tasks) for a, b in combinations(runs, 2))
    assert _captions(Evaluation("p", tuple(results), pairs, "v")).count("Task by task") == 3


def _captions(of: Evaluation) -> str:
    return "\n".join(b.caption for b in page_of(of, now=NOW).blocks if isinstance(b, Table))


def test_two_runs_that_share_nothing_give_a_reason_and_no_method() -> None:
    a, b = run("a"), run("b")
    pair = compared(
        a,
        b,
        first=None,
        second=None,
        estimate=Estimate(None, None, None, None, 0, 0, TANGO, "the two runs share no scored item"),
        p_value=None,
        adjusted_p=None,
        verdict="no difference shown",
        both_right=0,
        only_first=0,
        only_second=0,
        correlation=None,
        detectable=None,
        items_needed=None,
    )
    evaluation = Evaluation("p", (result(a), result(b)), (pair,), "v")
    assert "not measured: the two runs share no scored item" in text_of(evaluation)
    assert "McNemar" not in text_of(evaluation)
