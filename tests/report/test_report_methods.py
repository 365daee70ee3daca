"""The methods in prose: what was done is stated with its paper, what was not done is not mentioned."""

from __future__ import annotations

from dataclasses import replace

from report_examples import (
    BOOLQ,
    HASH,
    THINKING,
    compared,
    estimate,
    many_tasks,
    methods_of,
    one,
    result,
    run,
    score,
    text_of,
    three,
)

from proctor.report.methods import INTERVALS, PAPERS, sampling_words
from proctor.stats.compare import TANGO as TANGO_OF_STATS
from proctor.stats.estimates import WEIGHTED, WILSON
from proctor.types import Cell, Evaluation, Model, Sampling, SourceRef


def test_the_methods_of_one_run_speak_of_no_comparison() -> None:
    text = text_of(one())
    assert "(Wilson 1927)" in text
    for absent in ("McNemar", "Tango", "Holm", "Kish", "p-value", "Comparisons", "Verdict"):
        assert absent not in text


def test_the_methods_name_each_paper_that_was_used_and_no_other() -> None:
    assert all(paper in text_of(three()) for cited, paper in PAPERS.items() if cited != "Kish 1965")
    assert "Kish" not in text_of(three())
    assert PAPERS["Kish 1965"] in text_of(many_tasks())


def test_holm_is_named_only_where_several_comparisons_were_made() -> None:
    a, b = run("a"), run("b")
    pair = compared(a, b)
    said = methods_of(Evaluation("p", (result(a), result(b)), (pair,), "v"))
    assert "Holm" not in said
    assert "nothing to adjust" in said
    assert "adjusted for 3 comparisons (Holm 1979)" in methods_of(three())


def test_every_method_of_the_statistics_has_its_sentence() -> None:
    assert {WILSON, WEIGHTED, TANGO_OF_STATS} == INTERVALS.keys()


def test_an_unknown_method_is_named_as_it_is() -> None:
    said = methods_of(one(result(scores=[score(estimate(method="bootstrap, 2000 draws"))])))
    assert "computed by: bootstrap, 2000 draws." in said
    assert "Wilson" not in said


def test_the_methods_tell_what_was_asked_and_how() -> None:
    said = methods_of(one())
    for part in (
        "ollama/a was asked the items of SuperGLUE (BoolQ so far).",
        "The plan held 500 items.",
        f"The SHA-256 of the data is {HASH}.",
        "drawn with seed 0",
        "limited to the first 500 items of each task",
        "The version of the prompts is boolq/1.",
        "temperature 0, at most 512 output tokens, a context of 8,192 tokens and seed 0",
        "the digest sha256:5f0e and the quantization Q4_K_M",
        "the extractor proctor/1",
        "a refusal count as wrong",
        "it is left out of the scores",
    ):
        assert part in said


def test_the_methods_say_what_a_p_value_does_not_mean() -> None:
    assert "It is not the probability that the models are equally good." in methods_of(three())


def test_sampling_names_only_what_was_chosen() -> None:
    assert sampling_words(THINKING) == (
        "The requests named at most 8,192 output tokens and reasoning high; "
        "all other settings were left to the provider."
    )
    nothing = Sampling(temperature=None, max_tokens=None, context_tokens=None, seed=None)
    assert sampling_words(nothing) == "How replies were drawn was left to the provider."


def test_models_that_were_asked_differently_are_told_apart() -> None:
    a = run("a")
    b = replace(run("b"), cell=Cell(Model("ollama", "b"), BOOLQ, THINKING))
    said = methods_of(Evaluation("p", (result(a), result(b)), (), ""))
    assert "For ollama/a: The requests named temperature 0" in said
    assert "For ollama/b: The requests named at most 8,192 output tokens and reasoning high" in said


def test_a_baseline_is_no_model_and_draws_nothing() -> None:
    base = replace(run("x"), cell=Cell(Model("baseline", "majority"), BOOLQ))
    said = methods_of(one(result(base)))
    assert "baseline/majority answers from the labels alone, without a model." in said
    assert "temperature" not in said
    assert "digest" not in said


def test_a_file_of_the_users_own_is_called_that() -> None:
    own = replace(run("a"), cell=Cell(Model("ollama", "a"), SourceRef("file", "/tmp/q.csv")))
    own = replace(own, manifest={"data_sha256": HASH}, source_title="q.csv")
    said = methods_of(one(result(own)))
    assert "The rows are a file of the user's own." in said
    assert "No item of the chosen tasks was left out of the plan." in said


def test_a_weighted_score_is_told_from_the_unweighted_difference() -> None:
    both = many_tasks(2)
    pair = compared(both.results[0].run, both.results[1].run)
    assert "every item counts the same" in methods_of(replace(both, comparisons=(pair,)))
    assert "every item counts the same" not in methods_of(three())
    assert "every item counts the same" not in methods_of(both)
