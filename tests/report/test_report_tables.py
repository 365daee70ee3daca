"""The tables of a report: several metrics a task, categories, rare outcomes, and how it was asked."""

from __future__ import annotations

from dataclasses import replace

from report_examples import (
    MANIFEST,
    estimate,
    glue,
    many_tasks,
    one,
    result,
    run,
    table_named,
    table_of,
    tally,
    text_of,
)

from proctor.findings import Evaluation, RunResult


def test_official_metrics_come_before_those_beside_them_and_the_suite_on_top() -> None:
    table = table_named(glue(), "Score of each task")
    assert [row[:2] for row in table.rows] == [
        ("All tasks", "score (4 of 9 tasks)"),
        ("CoLA", "mcc"),
        ("CoLA", "accuracy"),
        ("MRPC", "accuracy"),
        ("MRPC", "f1"),
        ("STS-B", "pearson"),
        ("STS-B", "spearman"),
        ("MNLI", "accuracy"),
        ("MNLI", "accuracy_m"),
        ("MNLI", "accuracy_mm"),
        ("AX, the diagnostics", "mcc"),
        ("AX, the diagnostics", "accuracy"),
    ]


def test_categories_are_called_that() -> None:
    of = many_tasks()
    of = replace(of, results=(with_categories(of.results[0]),))
    table = table_named(of, "Score of each task")
    assert [row[:3] for row in table.rows[:4]] == [
        ("All tasks", "accuracy", "0.600"),
        ("All tasks", "macro accuracy", "0.610"),
        ("Category: STEM", "accuracy (2 of 18 tasks)", "0.500"),
        ("MMLU: Subject 0", "accuracy", "0.400"),
    ]
    assert table_of(of, "The rows behind")["subject_01"][3] == "STEM"


def with_categories(of: RunResult) -> RunResult:
    headline, *tasks = of.scores
    facts = replace(of.run.manifest.facts, categories={"STEM": ("subject_00", "subject_01")})
    manifest = replace(of.run.manifest, facts=facts)
    extra = [
        replace(headline, metric="macro accuracy", estimate=estimate(0.61)),
        replace(headline, metric="STEM accuracy (2 of 18 tasks)", estimate=estimate(0.5)),
    ]
    return replace(of, run=replace(of.run, manifest=manifest), scores=(headline, *tasks, *extra))


def test_answers_to_hidden_targets_are_counted_where_there_are_any() -> None:
    name = "Answered, neither right nor wrong"
    assert table_of(one(result(counts=tally(outcomes={"answered": 1104}))), "What became")[name] == ("1,104",)
    assert name not in table_of(one(), "What became")


def test_reasoning_tokens_have_a_row_where_they_are_known() -> None:
    name = "Of these, reasoning tokens"
    a, b = result(run("a"), counts=tally(reasoning_tokens_per_item=312.0)), result(run("b"))
    assert table_of(Evaluation("p", (a, b), (), ""), "What became")[name] == ("312", "-")
    assert name not in table_of(one(), "What became")


def test_the_record_says_how_it_was_asked_and_keeps_metrics_for_the_data() -> None:
    rows = table_of(glue(stop=["\n"], not_sent=["min_p"]), "Record of")
    assert rows["Style of the prompts"] == ("proctor",)
    assert rows["Worked examples"] == ("0",)
    assert rows["Choices shuffled"] == ("no",)
    assert rows["Stop"] == ("'\\n'",)
    assert rows["Asked for and not sent"] == ("min_p",)
    assert "Metrics" not in rows
    data = table_of(glue(), "The rows behind")
    assert data["mnli"] == ("1,000", "100", "accuracy", "accuracy_m, accuracy_mm", "mnli" * 8)


def test_items_of_the_hub_have_their_revision() -> None:
    rows = table_of(glue(rows="hub", revisions={"cola": "3de2"}), "The rows behind")
    assert rows["cola"][4] == "3de2"
    assert rows["mrpc"][4] == "-"


def test_a_column_of_several_metrics_bears_the_name_of_none() -> None:
    assert table_named(glue(), "Score of each task").heads[:3] == ("Task", "Metric", "Value")
    assert table_named(many_tasks(), "Score of each task").heads[:2] == ("Task", "Accuracy")


def test_askings_are_not_called_items() -> None:
    of = run(manifest={**MANIFEST, "wording": "all"}, planned=1500, settled=1200)
    evaluation = one(result(of))
    assert "1,200 of 1,500 planned askings of items have an outcome." in text_of(evaluation)
    assert table_of(evaluation, "Score of each model")["ollama/a"][4] == "500"
    assert table_named(evaluation, "What became").heads[0] == "Askings and means"
