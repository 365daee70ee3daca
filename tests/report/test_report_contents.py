"""What a report says: marks, banners, figures, unknowns, and methods that were really used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from latex_reader import shown
from report_examples import (
    HASH,
    MANIFEST,
    NOW,
    compared,
    estimate,
    many_tasks,
    methods_of,
    one,
    result,
    run,
    score,
    stopped,
    table_of,
    tally,
    text_of,
    three,
)

from proctor.errors import ConfigError
from proctor.findings import Estimate, Evaluation, Speed
from proctor.report import FORMATS, render
from proctor.types import Run, Status

each_format = pytest.mark.parametrize("form", list(FORMATS))
INCOMPLETE = "Not complete"


@each_format
def test_the_same_evaluation_gives_the_same_text(form: str) -> None:
    assert render(three(), form, now=NOW) == render(three(), form, now=NOW)


def test_an_unknown_format_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"No report format 'pdf'\. Formats: html, md, latex"):
        render(one(), "pdf", now=NOW)


@each_format
def test_title_models_and_dates_come_first(form: str) -> None:
    text = render(one(), form, now=NOW)
    assert "SuperGLUE (BoolQ so far): ollama/a" in text
    assert "Run of 2025-11-20, report written 2025-11-21 00:00 UTC" in text


def test_many_models_are_counted_in_the_title_and_named_in_the_tables() -> None:
    runs = [run(f"model-{i}", ident=f"{i}0000000") for i in range(7)]
    text = text_of(Evaluation("p", tuple(result(r) for r in runs), (), ""))
    assert text.startswith("# SuperGLUE (BoolQ so far): 7 models\n")
    assert all(f"| ollama/model-{i} | 0.800 |" in text for i in range(7))


def test_two_runs_of_one_model_are_told_apart() -> None:
    first, second = run("a", ident="11111111-x"), run("a", ident="22222222-x")
    text = text_of(Evaluation("p", (result(first), result(second)), (compared(first, second),), "v"))
    assert "| ollama/a (11111111) |" in text
    assert "ollama/a (11111111) and ollama/a (22222222)" in text


@each_format
def test_sample_rows_are_marked_at_the_top_and_at_the_score(form: str) -> None:
    text = render(one(result(run(manifest={**MANIFEST, "rows": "sample"}))), form, now=NOW)
    assert text.index("Sample rows: no real score.") < text.index("0.800")
    assert "complete; sample rows: no real score" in text
    assert "imported" not in text


@each_format
def test_real_rows_carry_no_mark(form: str) -> None:
    assert "real score" not in render(three(), form, now=NOW)


@each_format
def test_a_complete_run_has_no_banner(form: str) -> None:
    assert INCOMPLETE not in render(three(), form, now=NOW)


SHORT: Mapping[str, tuple[Mapping[str, Any], str, str]] = {
    "failed": (
        {"status": Status.FAILED, "settled": 212, "error": "no route", "error_slug": "network"},
        "The run failed (network): no route.",
        "failed",
    ),
    "cancelled": (
        {"status": Status.CANCELLED, "settled": 40, "stopped": "interrupted"},
        "The run was cancelled.",
        "cancelled",
    ),
    "still running": (
        {"status": Status.RUNNING, "settled": 40, "finished_at": None},
        "The run was still going on when this report was written.",
        "still running",
    ),
    "with errors": ({"settled": 497}, "The run is partial.", "partial"),
    "out of time": (
        {"settled": 300, "stopped": "the time allowed by --for (60 s for this run) was used up"},
        "Fewer items were asked because: the time allowed by --for (60 s for this run) was used up.",
        "partial",
    ),
}


@each_format
@pytest.mark.parametrize(("said", "reason", "state"), SHORT.values(), ids=SHORT)
def test_a_run_that_lacks_items_says_so_before_any_score(
    form: str, said: Mapping[str, Any], reason: str, state: str
) -> None:
    evaluation = one(result(run("a", **said)))
    text = shown(render(evaluation, form, now=NOW), form)
    assert text.index(f"{INCOMPLETE}: ollama/a.") < text.index("0.800")
    assert reason in text
    assert f"{said['settled']} of 500 planned items have an outcome." in text
    assert table_of(evaluation, "Score of each model")["ollama/a"][-1].partition(";")[0] == state
    assert "complete |" not in text


def test_a_banner_counts_the_errors_by_kind_and_what_the_score_rests_on() -> None:
    text = text_of(one(stopped()))
    assert "Items that ended in an error, by kind: network 19, overloaded 1." in text
    assert "The score rests on 212 items and is not a score of the whole set." in text
    assert "up to the first gap" in methods_of(one(stopped()))


def test_the_plot_marks_a_run_that_is_not_complete() -> None:
    assert "ollama/broken (failed)" in render(one(stopped()), "html", now=NOW)


@each_format
def test_the_verdict_stands_above_the_scores_of_several_runs(form: str) -> None:
    text = shown(render(three(), form, now=NOW), form)
    assert text.index("ollama/qwen2.5:7b-instruct is better than") < text.index("0.763")


NOTHING = Estimate(None, None, None, None, 0, 3, "Wilson", "every item asked ended in an error")


@each_format
def test_what_was_not_measured_is_never_a_number(form: str) -> None:
    text = render(one(result(scores=[score(NOTHING)])), form, now=NOW)
    assert "not measured: every item asked ended in an error" in text
    assert "0.000" not in text
    assert "<svg" not in text


def test_unknown_means_are_a_dash_and_an_unknown_cost_is_unknown() -> None:
    unknown = tally(
        outcomes={},
        answer_rate=None,
        speed=None,
        input_tokens_per_item=None,
        output_tokens_per_item=None,
        cost_usd=None,
    )
    rows = table_of(one(result(run(elapsed_s=0.0), counts=unknown)), "What became")
    assert rows["Cost"] == ("unknown",)
    assert rows["Requests sent again"] == ("0",)
    assert {cells for name, cells in rows.items() if name not in ("Cost", "Requests sent again")} == {("-",)}


def test_an_outcome_that_never_happened_happened_0_times() -> None:
    rows = table_of(one(), "What became")
    assert rows["Correct"] == ("400",)
    assert rows["Refused"] == ("0",)
    assert rows["Error, no reply"] == ("0",)


def test_a_run_without_any_score_says_so() -> None:
    rows = table_of(one(result(scores=[])), "Score of each model")
    assert rows["ollama/a"] == (
        "not measured",
        "-",
        "-",
        "-",
        "500",
        "0.74 s at 1 in flight",
        "$0.042",
        "complete",
    )


def test_a_task_that_one_run_did_not_reach_is_not_asked_there() -> None:
    both = many_tasks(2)
    less = replace(both.results[1], scores=both.results[1].scores[:-1])
    rows = table_of(replace(both, results=(both.results[0], less)), "Score of each task")
    assert rows["MMLU: Subject 56"] == ("0.960 [0.300, 0.950]", "not asked", "35; -")
    assert rows["MMLU: Subject 55"][-1] == "35"


def test_runs_without_results_make_a_report_too() -> None:
    assert "There are no runs to report." in text_of(Evaluation("", (), (), ""))


@pytest.mark.parametrize(
    ("value", "low", "high", "written"),
    [
        (0.9996, 0.9985, 0.99996, ("0.999", "[0.999, 0.999]")),
        (1.0, 0.8389, 1.0, ("1.000", "[0.839, 1.000]")),
        (0.0004, 0.0, 0.0642, ("0.001", "[0.000, 0.064]")),
        (0.0, 0.0, 0.0642, ("0.000", "[0.000, 0.064]")),
        (0.55249, 0.5081, 0.59551, ("0.552", "[0.508, 0.596]")),
        (0.8, None, None, ("0.800", "-")),
    ],
)
def test_roundings_of_scores(
    value: float, low: float | None, high: float | None, written: tuple[str, str]
) -> None:
    rows = table_of(one(result(scores=[score(estimate(value, low, high))])), "Score of each model")
    assert rows["ollama/a"][:2] == written


@pytest.mark.parametrize(
    ("facts", "name", "written"),
    [
        ({"cost_usd": 0.0}, "Cost", "$0.00"),
        ({"cost_usd": 0.00042}, "Cost", "$0.00042"),
        ({"cost_usd": 12.5}, "Cost", "$12.50"),
        ({"speed": Speed(75.0, 500, 14.0)}, "Time of a request", "1 min 15 s at 14 in flight"),
        ({"speed": Speed(0.042, 500)}, "Time of a request", "0.042 s, requests at once not recorded"),
        ({"input_tokens_per_item": 1234.6}, "Input tokens per item", "1,235"),
        ({"answer_rate": 0.9999}, "Answer rate", "0.999"),
        ({"retries": 12345}, "Requests sent again", "12,345"),
    ],
)
def test_roundings_of_what_it_took(facts: Mapping[str, Any], name: str, written: str) -> None:
    assert table_of(one(result(counts=tally(**facts))), "What became")[name] == (written,)


@pytest.mark.parametrize(("rate", "warned"), [(0.979, True), (0.98, False), (None, False)])
def test_a_low_answer_rate_is_pointed_out(rate: float | None, warned: bool) -> None:
    text = text_of(one(result(counts=tally(answer_rate=rate))))
    assert ("Only 0.979 of the replies of ollama/a held an answer" in text) is warned


def test_time_and_cost_stand_beside_the_score() -> None:
    rows = table_of(three(), "Score of each model")
    assert rows["ollama/qwen2.5:7b-instruct"][5:7] == ("0.74 s at 1 in flight", "$0.042")
    assert rows["ollama/gemma2:2b"][5:7] == ("0.74 s at 1 in flight", "unknown")


def test_an_empty_manifest_leaves_out_what_it_does_not_know() -> None:
    text = text_of(one(result(run(manifest={}))))
    for absent in ("None", "digest", "SHA-256", "extractor", "version of", "## Data"):
        assert absent not in text
    assert "| Run | a0000000-run |" in text


def test_the_record_splits_what_is_shared_from_what_differs() -> None:
    shared = table_of(three(), "What all runs share")
    differing = table_of(three(), "What differs")
    assert shared["Extractor"] == ("proctor/1",)
    assert shared["Temperature"] == ("0",)
    assert differing["Run"] == ("q0000000-run", "l0000000-run", "g0000000-run")
    assert not shared.keys() & differing.keys()


def test_the_record_keeps_facts_it_has_no_name_for() -> None:
    odd: Run = run(manifest={**MANIFEST, "judge_model": "x/y", "adjustments": ["top_k dropped"]})
    rows = table_of(one(result(odd)), "Record of")
    assert rows["Judge model"] == ("x/y",)
    assert rows["Adjusted for the server"] == ("top_k dropped",)
    assert rows["Started"] == ("2025-11-20 00:00 UTC",)


def test_the_data_of_all_tasks_are_listed_with_their_hashes() -> None:
    rows = table_of(many_tasks(3), "The rows behind")
    assert len(rows) == 57
    assert rows["subject_10"] == ("246", "35", "accuracy", "0a" * 32)
    assert HASH in str(table_of(one(), "The rows behind")["boolq"])
