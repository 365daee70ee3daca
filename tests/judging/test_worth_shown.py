"""A judge that favours one of two equal models, what labels leave of it, and where all of that is said."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import orjson
import pytest

from opened import start
from proctor.references import ExamRef, JudgingRef
from proctor.service.checked.worth import judged_comparison
from proctor.service.context import Context, open_context
from proctor.service.data import transfer
from proctor.service.evidence.compare import compared
from proctor.service.labelling.queue import queue
from proctor.service.labelling.taken_in import take_in
from proctor.service.labelling.wish import LabelWish
from proctor.service.runs.lifecycle import look
from proctor.types import Cell, Model, Plan
from programs import proctor, proctor_json
from simulators import settings

N, LABELLED, RIGHT = 300, 80, 210  # both models are right in as many, which are not the same
JUDGE = "judge-for-second"


@dataclass(frozen=True)
class Favoured:
    """Two runs of equal models, judged by one that favours the second."""

    home: Path
    first: str
    second: str
    unchecked: dict[str, Any]  # the evaluation before anybody had labelled


@pytest.fixture(scope="module")
def favoured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Favoured]:
    home = tmp_path_factory.mktemp("favoured")
    path = home / "open.csv"
    path.write_text(
        "question,answer\n" + "".join(f"Who keeps harbour {n}?,Anna {n} Berg\n" for n in range(N))
    )
    draw = random.Random(20)
    ids = []
    for name in ("first", "second"):
        said = home / f"{name}.jsonl"
        right = set(draw.sample(range(N), RIGHT))
        # Each in words of its own: a judge that sees the same text twice cannot favour either.
        keeper = (f"Anna {n} Berg" if n in right else "nobody that I know of" for n in range(N))
        texts = (f"In my {name} answer: {each}." for each in keeper)
        said.write_bytes(b"\n".join(orjson.dumps({"outputs": [text]}) for text in texts))
        cell = Cell(Model("replay", name), ExamRef("file", str(path), grader="contains"))
        ids.append(started(home, Plan((cell,), replies=str(said))))
    judge = Model("simulator", JUDGE)
    started(home, Plan(tuple(Cell(judge, JudgingRef("open.csv", each)) for each in ids)))
    unchecked = proctor_json(home, "show", *ids, "--grader", "judge")
    with open_context(settings(home)) as context:
        label(context, ids)
    yield Favoured(home, *ids, unchecked)


def started(home: Path, plan: Plan) -> str:
    ended = start(plan, settings(home))
    assert ended.error is None and ended.evaluation is not None
    ident: str = ended.evaluation.results[0].run.id
    return ident


def label(context: Context, ids: list[str]) -> None:
    """People say what is right of the random part of each run; their labels come in as CSV."""
    for ident in ids:
        made = queue(context, LabelWish((ident,), "ann", random=LABELLED))
        right = {row.item_id: row.score for row in context.store.latest(ident)}
        drawn = [entry.place.row.item_id for entry in made.entries if entry.drawn == "random"]
        lines = [f"{item},correct,{'pass' if right[item] else 'fail'},random" for item in drawn]
        take_in(context, made, "labels.csv", "\n".join(["item_id,criterion,grade,drawn", *lines]).encode())


def both(made: Favoured) -> list[str]:
    return [made.first, made.second]


@pytest.mark.promise("X-09")
def test_a_judge_that_favours_one_of_two_equal_models_is_not_believed(favoured: Favoured) -> None:
    with open_context(settings(favoured.home)) as context:
        found = judged_comparison(context, favoured.first, favoured.second)
        shown = compared(context, both(favoured), grader="judge").evaluation
        again = look(context, both(favoured), grader="judge")
    assert found.whole.judge_verdict == "second better", found.whole.judge
    assert found.verdict == "no difference shown" and found.whole.labels == LABELLED
    assert (
        f"The labels change the verdict: by simulator/{JUDGE} alone replay/second would be better."
        in found.sentence
    )
    for evaluation in (shown, again):
        assert evaluation.comparisons[0].verdict == "no difference shown"
        assert evaluation.verdict == f"{found.sentence} This is one choice out of 2 graders."


def test_unchecked_it_decides_nothing(favoured: Favoured) -> None:
    assert "That decides nothing, since nobody has checked this judge" in favoured.unchecked["verdict"]
    assert favoured.unchecked["comparisons"][0]["verdict"] == "no difference shown"
    judged = favoured.unchecked["judged"]
    assert judged["comparisons"][0]["judge_verdict"] == "second better"
    assert [each["checked"] for each in (*judged["runs"], *judged["comparisons"])] == [False] * 3
    assert "proctor label" in judged["runs"][0]["sentence"] and judged["runs"][0]["people"] is None


def test_wherever_a_judges_mean_stands_it_says_so(favoured: Favoured) -> None:
    mark = f"graded by simulator/{JUDGE} alone"
    titles = [run["scores"][0]["title"] for run in favoured.unchecked["runs"]]
    titles += [pair["title"] for pair in favoured.unchecked["comparisons"]]
    assert all(mark in title for title in titles) and len(titles) == 3
    lines = proctor(favoured.home, "compare", *both(favoured), "--grader", "judge").stdout.splitlines()
    scores = [line for line in lines if line.startswith((favoured.first[:8], favoured.second[:8]))]
    assert len(scores) == 2 and all("(judge alone)" in line for line in scores)
    assert any("judge says" in line for line in lines) and any("kappa" in line for line in lines)


def test_a_report_says_what_the_judge_is_worth(favoured: Favoured) -> None:
    with open_context(settings(favoured.home)) as context:
        plain = transfer.report(context, both(favoured), "md")
        judged = transfer.report(context, both(favoured), "html", grader="judge")
    for text in (plain, judged):
        assert "What the judges are worth" in text and "labels change the verdict" in text
        assert "people alone" in text and "Angelopoulos" in text
    assert f"graded by simulator/{JUDGE} alone" in judged
    assert f"graded by simulator/{JUDGE} alone" not in plain  # its scores are those of the runs' own grader


def test_an_export_has_what_is_corrected(favoured: Favoured) -> None:
    out = StringIO()
    with open_context(settings(favoured.home)) as context:
        transfer.export(context, both(favoured), "json", out)
    (judged,) = orjson.loads(out.getvalue())["judged"]
    assert [run["labels"] for run in judged["runs"]] == [LABELLED, LABELLED]
    assert judged["comparisons"][0]["verdict"] == "no difference shown"
    assert judged["runs"][0]["agreement"]["grades"] == ["pass", "fail"]
