"""Pareto's front on the comparison page: only among runs whose times mean the same."""

from __future__ import annotations

from proctor.findings import Evaluation, RunResult, Speed, Tally
from proctor.references import ExamRef
from proctor.service.evidence.standing import Standing
from proctor.types import Cell, Model, Run, Status
from proctor.web.evidence.compare import on_front


def result(name: str, speed: Speed | None) -> RunResult:
    cell = Cell(Model("openai", name), ExamRef("suite", "glue"))
    run = Run(name, "p", Status.COMPLETED, cell, "GLUE", 48, 48, {}, 0.0)
    return RunResult(run, (), Tally({"correct": 48}, 1.0, speed, None, None, None))


def front(values: dict[str, float], *results: RunResult) -> set[str]:
    at = Standing({}, values, "a", (), None, None, None, False, ())
    of = Evaluation("p", results, (), "")
    return {each.run.id for each in results if on_front(of, at, each)}


ALONE = Speed(2.0, 48, 1.0)


def test_the_better_and_the_quicker_are_on_the_front_and_one_that_is_neither_is_not():
    three = (result("a", ALONE), result("b", Speed(1.0, 48, 1.0)), result("c", Speed(3.0, 48, 1.1)))
    assert front({"a": 0.9, "b": 0.8, "c": 0.7}, *three) == {"a", "b"}


def test_a_time_among_many_requests_beats_none_that_was_alone_and_is_beaten_by_none():
    waited = result("b", Speed(9.0, 48, 14.0))
    assert front({"a": 0.9, "b": 0.8}, result("a", ALONE), waited) == set()
    three = (result("a", ALONE), waited, result("c", Speed(3.0, 48, 1.0)))
    assert front({"a": 0.9, "b": 0.95, "c": 0.7}, *three) == {"a"}


def test_a_run_without_a_time_is_on_no_front():
    assert front({"a": 0.9, "b": 0.8}, result("a", None), result("b", ALONE)) == set()
