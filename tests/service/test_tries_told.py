"""Tries that are no longer to be seen are told: deleted runs and models, and reruns of slightly other selections."""

from __future__ import annotations

from pathlib import Path

import pytest

from bundles import answers, replayed, rows
from opened import compare_named, opened
from proctor.findings import Evaluation
from proctor.findings.looks import Rerun
from proctor.references import ExamRef
from proctor.service.admin import prune
from simulators import settings

pytestmark = pytest.mark.slow

N = 60
delete = opened(prune.delete)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    rows(tmp_path, N)
    return tmp_path


def asked(home: Path, name: str, wrong: int, limit: int | None = None) -> str:
    source = ExamRef("file", str(home / "ways.jsonl"), limit=limit)
    return replayed(home, source, answers(N, wrong=range(wrong)), name)


def compared(home: Path, *names: str) -> Evaluation:
    return compare_named(list(names), settings(home)).evaluation


@pytest.mark.promise("X-07")
def test_runs_that_were_deleted_are_counted_and_their_models_stay_in_the_family(home: Path) -> None:
    other = asked(home, "other", 9)
    unwelcome = [asked(home, "lucky", wrong) for wrong in (20, 15)]
    kept, third = asked(home, "lucky", 3), asked(home, "third", 8)
    before = compared(home, kept, other).comparisons[0].whole
    assert before.comparisons == 3
    for each in (*unwelcome, third):
        delete(settings(home), each)
    found = compared(home, kept, other)
    assert found.comparisons[0].whole.comparisons == 3
    assert found.looks is not None and (found.looks.models, found.looks.deleted) == (3, 1)
    assert found.looks.reruns == (Rerun(kept, "replay/lucky", of=1, deleted=2),)
    assert (
        "replay/lucky has further runs here: 2 deleted" in found.verdict
        and "the runs of a model on these items" in found.verdict
    )


def test_a_rerun_of_another_selection_is_a_rerun(home: Path) -> None:
    other = asked(home, "other", 9)
    for limit in (59, 58, 10):
        asked(home, "lucky", 12, limit)
    found = compared(home, asked(home, "lucky", 3, 57), other)
    assert found.looks is not None and [each.of for each in found.looks.reruns] == [3], "10 rows were a trial"
    assert "replay/lucky is the latest of its 3 runs here" in found.verdict


def test_what_was_deleted_before_it_was_whole_is_no_try(home: Path) -> None:
    other = asked(home, "other", 9)
    said: list[str | None] = list(answers(N))
    said[-5:] = [None] * 5
    broken = replayed(home, ExamRef("file", str(home / "ways.jsonl")), said, "lucky")
    delete(settings(home), broken)
    found = compared(home, asked(home, "lucky", 3), other)
    assert found.looks is not None and not found.looks.reruns and not found.looks.deleted


def test_a_file_that_was_rewritten_under_another_name_is_another_selection(home: Path) -> None:
    for name, wrong in (("lucky", 12), ("other", 14)):
        asked(home, name, wrong)
    lines = (home / "ways.jsonl").read_text().splitlines()
    (home / "better.jsonl").write_text("\n".join(lines[:55]) + "\n")
    fresh = rows(home / "elsewhere", 60, "hills") if (home / "elsewhere").mkdir() is None else None
    assert fresh is not None
    fresh.write_text(fresh.read_text().replace("hill", "lake"))
    for name, wrong in (("lucky", 2), ("other", 14)):
        replayed(home, ExamRef("file", str(home / "better.jsonl")), answers(55, wrong=range(wrong)), name)
        replayed(home, ExamRef("file", str(fresh)), answers(N, wrong=range(wrong)), name)
    found = compare_named(["lucky", "other"], settings(home), source="better.jsonl").evaluation
    assert "one choice out of 2 selections of items" in found.verdict
    alone = compare_named(["lucky", "other"], settings(home), source="hills.jsonl").evaluation
    assert "selections" not in alone.verdict, "these are other questions"
