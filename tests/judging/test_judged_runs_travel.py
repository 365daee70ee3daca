"""Grades of judges and labels of people go wherever their run goes, and leave with it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from judged_home import (
    PEOPLE,
    RIGHT,
    WRONG,
    JudgedHome,
    N,
    answered,
    graders,
    judge,
    judged_home,
    label,
    said_of,
)

from bundles import altered, in_lines, members
from opened import bundle, export, look, opened, rerun
from proctor.errors import NotFound
from proctor.service.admin import prune
from proctor.service.checked.leaning import leanings
from proctor.service.checked.summary import summary_lines
from proctor.service.context import open_context
from proctor.service.data import merge as merging
from proctor.service.data.verify import verify
from proctor.service.grades.view import graded_result
from proctor.service.judges.requests import standing
from proctor.types import Shard
from simulators import settings

merge = opened(merging.merge)
delete = opened(prune.delete)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> JudgedHome:
    return judged_home(tmp_path_factory.mktemp("judged"))


@pytest.mark.promise("X-04")
def test_a_bundle_holds_grades_and_labels_and_verify_recomputes_what_the_judge_gave(
    here: JudgedHome, tmp_path: Path
) -> None:
    path = tmp_path / "judged.zip"
    bundle([here.first], here.settings, path)
    inside = members(path)
    told = json.loads(inside["results.json"])["runs"][0]["graded"]
    with open_context(here.settings) as context:
        (name,) = graders(context, here.first)
        shown = graded_result(context, here.first, name).scores[0].estimate
    assert [(each["grader"], each["scores"][0]["value"]) for each in told] == [(name, shown.value)]
    assert inside[f"runs/{here.first}/labels.jsonl"].count(b"\n") == 4 * len(PEOPLE)
    found = verify(path)
    assert (found.faults, found.besides) == ((), N + 4 * len(PEOPLE))
    bent = verify(altered(path, lambda inside: in_lines(inside, "grades.jsonl", better)))
    assert len(bent.faults) == 1 and "graded" in bent.faults[0], bent.faults
    strange = verify(altered(path, lambda inside: in_lines(inside, "labels.jsonl", of_nobody)))
    assert any("labels differ" in fault and "no such reply" in fault for fault in strange.faults)


def better(lines: list[dict[str, object]]) -> None:
    wrong = next(line for line in lines)
    wrong["score"] = 0.0


def of_nobody(lines: list[dict[str, object]]) -> None:
    lines[0]["item"] = "nobody/1"


@pytest.mark.parametrize("prompts", [False, True])
def test_a_bundle_of_a_judging_has_its_verdicts_read_again(
    here: JudgedHome, tmp_path: Path, prompts: bool
) -> None:
    path = tmp_path / "judging.zip"
    bundle([here.judging], here.settings, path, prompts=prompts)
    found = verify(path)
    assert (found.faults, found.replies, found.unread, found.items) == ((), N, 0, N * prompts)
    bent = verify(altered(path, lambda inside: in_lines(inside, "replies.jsonl", unlike)))
    assert any("a reply differs" in fault for fault in bent.faults), bent.faults


def unlike(lines: list[dict[str, object]]) -> None:
    lines[0]["text"] = "Grade: fail" if lines[0]["answer"] == "pass" else "Grade: pass"


def test_an_export_has_the_judges_grades_and_what_each_person_said_beside_the_reply(here: JudgedHome) -> None:
    out = io.StringIO()
    assert export([here.second], "jsonl", out, here.settings) == N
    rows = [json.loads(line) for line in out.getvalue().splitlines()]
    assert all(len(row["grades"]) == 1 and row["grades"][0]["grader"].startswith("judge/") for row in rows)
    assert [[said["user"] for said in row["labels"]] for row in rows[:5]] == [list(PEOPLE)] * 4 + [[]]
    assert rows[0]["labels"][0]["tags"] == ["seen"]


@pytest.mark.slow
def test_merged_parts_keep_the_labels_of_different_people_side_by_side(tmp_path: Path) -> None:
    homes = [tmp_path / f"part{index}" for index in (0, 1)]
    for index, home in enumerate(homes):
        home.mkdir()
        part = answered(home, "good", RIGHT, Shard(index, 2))
        judge(home, part)
        with open_context(settings(home)) as context:
            ids = [row.item_id for row in context.store.latest(part)]
            label(context.store, part, PEOPLE[index], ids)
            label(context.store, part, "both", ids[:1], "fail")
    packed = tmp_path / "part1.zip"
    bundle([run_in(homes[1])], settings(homes[1]), packed, prompts=True)
    for sources in ([homes[0], homes[1]], [homes[0], packed]):
        merged = tmp_path / f"merged-{sources[1].name}"
        merged.mkdir()
        for _ in range(2):  # again brings nothing twice
            run = merge(settings(merged), [str(each) for each in sources]).outcome.evaluation.results[0].run
        with open_context(settings(merged)) as context:
            kept = said_of(context, run.id)
        assert len(kept["grades"]) == N
        assert sorted(each["user"] for each in kept["labels"]) == ["ann"] * 6 + ["bob"] * 6 + ["both"] * 2


def run_in(home: Path) -> str:
    with open_context(settings(home)) as context:
        (run,) = [each for each in context.store.runs() if each.cell.source.kind == "file"]
    return run.id


@pytest.mark.slow
def test_a_judging_outlives_the_run_that_it_judged_and_a_run_the_judgings_of_it(tmp_path: Path) -> None:
    first, other = answered(tmp_path, "good", RIGHT), answered(tmp_path, "half", WRONG)
    kept, gone, left = judge(tmp_path, first), judge(tmp_path, first, limit=4), judge(tmp_path, other)
    judge(tmp_path, other, first)
    here = settings(tmp_path)
    delete(gone, here)
    with open_context(here) as context:
        assert len(said_of(context, first)["grades"]) == 2 * N, "a deleted judging leaves its grades"
        delete(first, here)
        assert context.store.run(kept).settled == N
        assert standing(context, kept).there == {first: None}
        (leaning,) = leanings(context, other)
        assert leaning.judging == left, "of pairs whose other run is gone nothing is told"
        (told,) = summary_lines(context.store, context.store.run(kept))
    assert told.startswith(f"Run {first[:8]}, whose replies were judged, was deleted")
    out = io.StringIO()
    assert export([kept], "csv", out, here) == N == look([kept], here).results[0].scores[0].estimate.scored
    with pytest.raises(NotFound, match=r"was deleted.*kept in the judging"):
        rerun(kept, here)
