"""The methods in prose: what was done is stated with its paper, what was not done is not mentioned."""

from __future__ import annotations

from dataclasses import asdict, replace
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest
from report_examples import (
    BOOLQ,
    HASH,
    MANIFEST,
    NOW,
    PAIR_METHODS,
    THINKING,
    estimate,
    glue,
    many_tasks,
    methods_of,
    one,
    result,
    run,
    score,
    tally,
    text_of,
)

from proctor import stats
from proctor.findings import METRIC_VERSIONS, OF_TRIALS, Evaluation
from proctor.manifest_json import manifest_from
from proctor.references import ExamRef, LogRef
from proctor.report import comparison
from proctor.report.measures import MEANINGS, NAMES, PASSES
from proctor.report.papers import CORRECTION, INTERVALS, PAPERS, TESTS, split
from proctor.report.setup import sampling_words
from proctor.report.words import day
from proctor.stats import estimates, estimates_share, estimates_sheet, estimates_task, resample
from proctor.stats.estimates import Scored, Shape, TaskShape, scores
from proctor.types import Cell, Model, Outcome, Sampling

NO_METHODS = {resample.SAID, estimates.ACCURACY, estimates.MACRO, estimates.OVER_TASKS, *OF_TRIALS}
METHODS = INTERVALS.keys() - PAIR_METHODS


def constants() -> set[str]:
    """The texts that the modules of the statistics name: methods, tests, and NO_METHODS."""
    modules = [import_module(f"proctor.stats.{found.name}") for found in iter_modules(stats.__path__)]
    named = [pair for module in modules for pair in vars(module).items()]
    return {value for name, value in named if name.isupper() and isinstance(value, str)}


def test_the_methods_of_one_run_speak_of_no_comparison() -> None:
    text = text_of(one())
    assert "(Wilson 1927)" in text
    for absent in ("McNemar", "Tango", "Holm", "Kish", "p-value", "Comparisons", "Verdict"):
        assert absent not in text


def test_every_paper_is_cited_somewhere() -> None:
    texts = (
        *INTERVALS.values(),
        *TESTS.values(),
        *MEANINGS.values(),
        *PASSES.values(),
        *comparison.WORDS,
        CORRECTION,
    )
    said = " ".join(texts)
    assert {cited for cited in PAPERS if cited not in said} == set()


def test_every_method_of_the_statistics_has_its_sentence() -> None:
    assert constants() - NO_METHODS == INTERVALS.keys() | TESTS.keys()


def numbers(answers: list[str | None]) -> str:
    """The method that the statistics name for these answers to a task of numbers."""
    rows = [
        Scored(f"n/{i}", "n", str(i), answer, Outcome.WRONG if answer else Outcome.NO_ANSWER, 0.0)
        for i, answer in enumerate(answers)
    ]
    task = TaskShape("N", official=("pearson",), kind="number")
    return scores(rows, Shape("S", {"n": task}))[0].estimate.method


def test_a_method_with_something_behind_it_keeps_its_sentence() -> None:
    method = numbers(["1", None, "3", "2", "5", None, "4", "8"])
    base, behind = split(method)
    assert (base, behind[:6]) == (estimates_task.CORRELATED, "2 of 8")
    said = methods_of(one(result(scores=[score(estimate(method=method))])))
    assert "percentile bootstrap of the items, 2,000 draws" in said and "Fisher's transformation" in said
    assert "In BoolQ, ollama/a: 2 of 8 replies without a number count as the mean of the others." in said
    assert split(numbers(["3"] * 8)) == (estimates_task.UNRELATED, "")


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_score_is_explained_by_its_method_alone(method: str) -> None:
    said = methods_of(one(result(scores=[score(estimate(method=method))])))
    shown = INTERVALS[method].replace("<", "&lt;")
    assert shown in said
    assert not [other for name, other in INTERVALS.items() if name != method and other in said]


INDEPENDENT = "These intervals take the items as independent"


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (estimates_sheet.WILSON, True),
        (estimates_task.DIRICHLET, True),
        (estimates_share.EFFECTIVE, False),
        (estimates_task.CLUSTERED, False),
    ],
)
def test_independence_is_claimed_only_where_clusters_were_not_seen(method: str, said: bool) -> None:
    assert (INDEPENDENT in methods_of(one(result(scores=[score(estimate(method=method))])))) is said


def test_every_metric_has_a_name_and_a_meaning() -> None:
    assert METRIC_VERSIONS.keys() <= NAMES.keys()
    assert METRIC_VERSIONS.keys() - MEANINGS.keys() == {"accuracy_mm"}  # told with accuracy_m


def test_the_methods_say_what_scores_each_task() -> None:
    said = methods_of(glue())
    for part in (
        "CoLA and AX are scored by Matthews' correlation; "
        'MRPC by the mean of accuracy and F1 of the label "equivalent"; '
        "STS-B by the mean of Pearson's correlation and Spearman's correlation; MNLI by accuracy.",
        "The headline is the unweighted mean of the tasks' scores",
        "Only 4 of the 9 tasks that make up the suite's score were asked",
        "AX is scored apart and is no part of the headline.",
        "for the label that is not the target",
        "for an answer that is none of them",
        "as the mean of the model's other answers",
    ):
        assert part in said
    for meaning in ("(mcc) is", "(f1) is", "(pearson) is", "(spearman) is", "(accuracy_m, accuracy_mm)"):
        assert said.count(meaning) == 1
    for absent in ("macro", "every candidate", "over words", "{"):
        assert absent not in said


def test_an_accuracy_over_items_is_told_from_a_mean_over_tasks() -> None:
    said = methods_of(many_tasks())
    assert "57 tasks are scored by accuracy." in said
    assert "The headline is the accuracy over all items, each task weighing as much as its whole set" in said
    assert "unweighted mean of the tasks' scores" not in said


def test_a_single_task_has_no_headline_over_tasks() -> None:
    assert "The headline is" not in methods_of(one())


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"wording": 2}, "in proctor's own style, wording 2 of 3"),
        ({"wording": "all"}, "asked in three wordings, and its score is the mean over the three"),
        ({"style": "simple-evals"}, 'are those of the style "simple-evals"'),
        ({"shots": 0}, "No worked examples were shown."),
        ({"shots": 1}, "Before each item stood 1 worked example from the dev rows."),
        ({"shots": 5}, "Before each item stood 5 worked examples from the dev rows."),
        ({"shuffle": True}, "an order of their own for each item, drawn with seed 0"),
        ({"mode": "generate"}, "written freely"),
        ({"mode": "structured"}, "under a schema that admits only the options of the item"),
        ({"mode": "logprob"}, "whose first token had the highest log-probability"),
        ({"extractor": "mirage/1"}, "it takes A where it finds no letter"),
        ({"rows": "hub"}, "The rows were downloaded from the hub."),
        ({"rows": "hub", "revisions": {"boolq": "3de2"}}, "downloaded from the hub, revision 3de2."),
        (
            {"not_sent": ["min_p"]},
            "since the server has no word for it, was: min p.",
        ),
        ({"model": {"server": "llama.cpp b1"}}, "ollama/a was served by llama.cpp b1."),
        ({"remarks": ["the server lists no models"]}, "Of ollama/a: the server lists no models."),
        (
            {"mode": "structured", "schema": {"replies": 8, "held": 8}},
            "The schema held: all 8 whole replies are JSON of it.",
        ),
    ],
)
def test_how_it_was_asked_is_read_off_the_manifest(facts: dict[str, Any], said: str) -> None:
    assert said in methods_of(one(result(run(manifest={**MANIFEST, **facts}))))


def test_wordings_and_repeats_do_not_multiply_the_items() -> None:
    cell = Cell(Model("ollama", "a"), BOOLQ, repeats=2)
    of = run(manifest={**MANIFEST, "wording": "all"}, cell=cell, planned=3000, settled=3000)
    assert "The plan held 500 items, each asked 2 times in each wording." in methods_of(one(result(of)))


def test_own_messages_have_no_style() -> None:
    said = methods_of(one(result(run(manifest={**MANIFEST, "prompts": {"verbatim": "verbatim/1"}}))))
    assert "own style" not in said
    assert "The version of the prompts is verbatim/1." in said


def test_kept_answers_without_targets_are_explained() -> None:
    hidden = result(counts=tally(outcomes={"answered": 500}))
    assert "targets are hidden" in methods_of(one(hidden))
    assert "targets are hidden" not in methods_of(one())


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


LEFT = Sampling(temperature=None, max_tokens=None, context_tokens=None, seed=None)  # all to the provider


def test_sampling_names_only_what_was_chosen() -> None:
    assert sampling_words(THINKING) == (
        "The requests named at most 8,192 output tokens and reasoning high; "
        "all other settings were left to the provider."
    )
    assert sampling_words(replace(LEFT, stop=("\n",))).startswith("The requests named 1 stop sequence;")
    assert "at most 512 output tokens and the seeds 7 to 11, one for each repeat;" in sampling_words(
        replace(LEFT, max_tokens=512, seed=7), repeats=5
    )
    assert sampling_words(LEFT) == "How replies were drawn was left to the provider."


def test_only_what_was_sent_is_said_of_the_sampling() -> None:
    sent = {**MANIFEST, "sampling": {"temperature": 0.0, "max_tokens": 512}}
    said = methods_of(one(result(run(manifest=sent))))
    assert "The requests named temperature 0 and at most 512 output tokens;" in said
    without = {key: value for key, value in MANIFEST.items() if key != "sampling"}
    assert "a context of 8,192 tokens and seed 0" in methods_of(one(result(run(manifest=without))))


def test_models_that_were_asked_differently_are_told_apart() -> None:
    a = run("a")
    b = run("b", manifest={**MANIFEST, "sampling": {**asdict(THINKING), "stop": []}})
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
    own = replace(run("a"), cell=Cell(Model("ollama", "a"), ExamRef("file", "/tmp/q.csv")))
    own = replace(
        own, manifest=manifest_from({"rows": "file", "data_sha256": {"q": HASH}}), source_title="q.csv"
    )
    said = methods_of(one(result(own)))
    assert "The rows are a file of the user's own." in said
    assert "No item of the chosen tasks was left out of the plan." in said


@pytest.mark.parametrize(("metric", "cited"), [("pass@4", "Chen et al. 2021"), ("pass^2", "Yao et al. 2024")])
def test_scores_over_repeated_askings_are_explained_where_they_are_shown(metric: str, cited: str) -> None:
    shown = [score(estimate()), score(estimate(0.9), metric=metric)]
    assert PAPERS[cited] in text_of(one(result(scores=shown)))
    assert cited not in text_of(one())


LOG = LogRef("/tmp/results.json")


def test_a_log_of_another_tool_is_called_that_and_nothing_is_said_of_how_it_was_asked() -> None:
    of = run(
        "a",
        cell=Cell(Model("lm-eval", "a"), LOG),
        manifest={"rows": "log", "tool": "lm-eval", "tool_version": "0.4.9"},
    )
    said = methods_of(one(result(of)))
    assert "made by another program, lm-eval 0.4.9, and imported from its log" in said
    for absent in (
        "temperature",
        "left out of the plan",
        "written freely",
        "cut by the length limit",
        "prompts",
    ):
        assert absent not in said.replace("not of other prompts", "")


def test_a_log_of_an_unknown_tool_has_no_name_for_it() -> None:
    of = run("a", cell=Cell(Model("inspect", "a"), LOG), manifest={"rows": "log"})
    assert "made by another program and imported from its log" in methods_of(one(result(of)))


def test_a_log_is_of_the_day_it_was_made_and_its_further_metrics_are_no_items() -> None:
    manifest = {
        "tasks": {"quiz": "quiz acc", "quiz (acc_norm)": "quiz acc_norm"},
        "metrics": {
            "quiz": {"kind": "choices", "extra": False},
            "quiz (acc_norm)": {"kind": "choices", "extra": True},
        },
        "asked": {"quiz": 250, "quiz (acc_norm)": 250},
    }
    of = run(
        cell=Cell(Model("lm-eval", "m"), LOG), manifest=manifest, created_at=NOW - 300 * 86400, started_at=NOW
    )
    evaluation = one(result(of))
    assert "The plan held 250 items." in methods_of(evaluation)
    written = text_of(evaluation)
    assert f"Run of {day(of.created_at)}, report" in written and f"Started | {day(of.created_at)}" in written
    assert "Finished" not in written


@pytest.mark.parametrize(("asked", "left_out"), [(20, False), (12, True)])
def test_a_preset_that_took_every_item_is_not_said_to_have_chosen(asked: int, left_out: bool) -> None:
    source = ExamRef("suite", "glue", tasks=("cola",), preset="quick")
    facts = {**MANIFEST, "full_sizes": {"cola": 20}, "asked": {"cola": asked}}
    said = methods_of(one(result(run(cell=Cell(Model("ollama", "a"), source), manifest=facts))))
    assert ('up to the size of the preset "quick"' in said) == left_out
    assert ("No item of the chosen tasks was left out of the plan." in said) != left_out
