"""How the runs were compared, in prose: which test for what, the adjustments, the rule, what is not meant."""

from __future__ import annotations

from dataclasses import replace

import pytest
from report_examples import (
    PAIR_METHODS,
    compared,
    difference,
    estimate,
    methods_of,
    one,
    result,
    run,
    stopped,
    text_of,
    three,
    two_suites,
)

from proctor.findings import Comparison, Evaluation
from proctor.report.papers import INTERVALS, PAPERS, TESTS
from proctor.stats import compare, pairs, pairs_share


def pair_of(c: Comparison) -> Evaluation:
    return Evaluation("p", (result(c.first), result(c.second)), (c,), "v")


def pair(**other: object) -> str:
    """The methods of two runs compared like this."""
    return methods_of(pair_of(compared(run("a"), run("b"), **other)))


def test_the_methods_name_each_paper_that_was_used_and_no_other() -> None:
    said = text_of(three())
    used = {"Wilson 1927", "McNemar 1947", "Tango 1998", "Holm 1979", "Miller 2024", "Connor 1987"}
    assert {cited for cited, paper in PAPERS.items() if paper in said} == used


def test_the_headline_and_the_tasks_are_told_apart_by_their_tests() -> None:
    said = methods_of(two_suites())
    assert "The headlines (score) were tested by approximate randomisation within tasks." in said
    assert (
        "The tasks were tested by approximate randomisation (mcc, accuracy + f1) and by exact McNemar (accuracy)."
    ) in said
    for test in (compare.STRATIFIED_TEST, pairs.RANDOMISED, pairs_share.MCNEMAR):
        assert TESTS[test] in said
    assert TESTS["sign-flip permutation"] not in said


def test_tasks_that_no_table_shows_are_not_spoken_of() -> None:
    of = three()
    tasks = (difference(task="cb", title="CB", metric="macro_f1", test=pairs.RANDOMISED),)
    *shown, hidden = of.comparisons
    assert "macro_f1" not in methods_of(replace(of, comparisons=(*shown, replace(hidden, tasks=tasks))))
    assert "exploratory" not in methods_of(of)


@pytest.mark.parametrize("test", sorted(TESTS))
def test_a_test_is_explained_where_it_was_used(test: str) -> None:
    said = pair(test=test)
    assert f"The headlines (accuracy) were tested by {test}." in said
    assert [name for name, words in TESTS.items() if words in said] == [test]


def test_an_unknown_test_and_interval_are_named() -> None:
    said = pair(test="dice", estimate=replace(difference().estimate, method="a guess"))
    assert "were tested by dice." in said
    assert "computed by: a guess." in said


def test_holm_is_named_only_where_several_comparisons_were_made() -> None:
    said = pair()
    assert "Holm" not in said
    assert "nothing to adjust" in said
    assert "adjusted together for 3 comparisons" in methods_of(three())
    assert "(Holm 1979)" in methods_of(three())


def test_the_tasks_are_called_exploratory() -> None:
    said = methods_of(two_suites())
    assert "exploratory, to show where to look" in said
    assert PAPERS["Benjamini and Hochberg 1995"] in said
    assert "Benjamini" not in methods_of(three())


def test_the_rule_names_the_margin() -> None:
    assert "the whole interval lies within 0.010 of 0" in pair()
    assert "the whole interval lies within 0.025 of 0" in pair(margin=0.025)


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        ("correlation", "The correlation of a pair is Pearson's"),
        ("detectable", "The smallest difference to be shown is"),
        ("items_needed", "The items needed are about"),
    ],
)
def test_a_figure_is_explained_where_it_is_known(column: str, sentence: str) -> None:
    assert sentence in pair()
    assert sentence not in pair(**{column: None})


def test_runs_that_are_not_complete_are_pointed_out() -> None:
    sentence = "Runs that are not complete were compared on as far as they got."
    a, b = run("a"), stopped()
    assert sentence in methods_of(Evaluation("p", (result(a), b), (compared(a, b.run),), "v"))
    assert sentence not in pair()


def test_the_methods_say_what_a_p_value_does_not_mean() -> None:
    assert "It is not the probability that the models are equally good." in pair()
    assert "p-value" not in methods_of(one())


def test_every_test_of_the_statistics_has_its_sentence() -> None:
    assert TESTS.keys() == {
        pairs_share.MCNEMAR,
        pairs_share.SIGN_FLIP,
        pairs_share.SIGN_FLIP_CLUSTERS,
        pairs.RANDOMISED,
        pairs.RANDOMISED_CLUSTERS,
        compare.STRATIFIED_TEST,
    }


@pytest.mark.parametrize("method", sorted(PAIR_METHODS))
def test_the_interval_of_a_difference_is_explained_by_its_method_alone(method: str) -> None:
    said = pair(estimate=estimate(0.07, 0.035, 0.106, method=method))
    assert [name for name in PAIR_METHODS if INTERVALS[name] in said] == [method]
