"""The length that is said at a job's submission is of the items that the job will ask."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.references import ExamRef
from proctor.service.kinds.exams import items_of
from proctor.service.runs.lifecycle import open_sources, resolved
from proctor.types import Cell, Model, Plan
from simulators import settings


@pytest.mark.parametrize("suite", ["glue", "superglue", "mmlu", "medical"])
@pytest.mark.parametrize(("preset", "limit"), [(None, None), (None, 2), ("quick", None), ("full", None)])
def test_sample_rows_are_counted_as_they_will_be_asked(
    tmp_path: Path, suite: str, preset: str | None, limit: int | None
) -> None:
    home = settings(tmp_path)
    source = ExamRef("suite", suite, rows="sample", preset=preset, limit=limit)
    plan = resolved(Plan((Cell(Model("simulator", "sim"), source),)), home)
    assert items_of(source) == len(open_sources(plan, home)[0])


def test_official_rows_are_counted_by_their_size_and_the_preset() -> None:
    assert items_of(ExamRef("suite", "mmlu")) == 14_042
    assert items_of(ExamRef("suite", "mmlu", preset="standard")) == 2_000
    assert items_of(ExamRef("suite", "mmlu", tasks=("anatomy",), limit=1_000)) == 135
