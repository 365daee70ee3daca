"""A structured run counts the replies that kept its schema, and stands apart where a server ignores it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from odd_servers import Answers, models, odd_server, said
from opened import leaderboard, look, over, resume, start
from proctor.cli.tables import evaluation_lines, list_entry
from proctor.errors import ConfigError
from proctor.manifest import Adherence
from proctor.references import ExamRef
from proctor.report.setup import how_it_was_asked
from proctor.service.evidence.compare import compared
from proctor.service.results.outcome import PlanOutcome
from proctor.settings import Settings
from proctor.store import Store
from proctor.types import Cell, Model, Plan, Run, Sampling
from simulators import settings

pytestmark = pytest.mark.slow

ROWS = 12


def strict(request: Mapping[str, Any]) -> Any:
    """Writes the first answer that the schema admits."""
    (first, *_) = schema_of(request)["properties"]["answer"]["enum"]
    return said(json.dumps({"answer": first}), request["model"])


def ignoring(request: Mapping[str, Any]) -> Any:
    return said("Answer: A", request["model"])


def schema_of(request: Mapping[str, Any]) -> Any:
    return request["response_format"]["json_schema"]["schema"]


class Slipping:
    """Keeps the schema but for some replies: the first is free, the next is cut, the one after is empty."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, request: Mapping[str, Any]) -> Any:
        self.asked += 1
        if self.asked == 1:
            return said("I think it is A.", request["model"])
        if self.asked == 2:
            return said('{"answer": ', request["model"], finish="length")
        return said("", request["model"]) if self.asked == 3 else strict(request)


@pytest.fixture
def given(tmp_path) -> Settings:
    return with_rows(tmp_path)


def with_rows(tmp_path: Path, **environ: str) -> Settings:
    rows = [f"What is {n} and {n}?,{2 * n},{2 * n + 1},A" for n in range(ROWS)]
    (tmp_path / "sums.csv").write_text("\n".join(["question,A,B,answer", *rows]), encoding="utf-8")
    return settings(tmp_path, **environ)


def ask(given: Settings, home: Path, **servers: Answers) -> PlanOutcome:
    """One plan under a schema: a model of each server's name, at that server."""
    source = ExamRef("file", str(home / "sums.csv"))
    with ExitStack() as stack:
        cells = []
        for name, answers in servers.items():
            server = stack.enter_context(odd_server({"/v1/models": models(name)}, answers))
            cells.append(Cell(Model("openai", name, server.url), source, Sampling(mode="structured")))
        return start(Plan(tuple(cells)), given)


def runs_of(outcome: PlanOutcome) -> list[Run]:
    assert outcome.evaluation is not None
    return [result.run for result in outcome.evaluation.results]


def test_a_run_whose_schema_was_ignored_says_so_and_is_not_compared_with_one_where_it_held(
    tmp_path, database_url
):
    given = with_rows(tmp_path, PROCTOR_DATABASE_URL=database_url)
    outcome = ask(given, tmp_path, kept=strict, free=ignoring)
    kept, free = runs_of(outcome)
    assert kept.manifest.schema == Adherence(ROWS, ROWS)
    assert free.manifest.schema == Adherence(ROWS, 0)
    assert kept.comparability != free.comparability
    assert kept.exam != free.exam
    assert (
        list_entry(outcome.evaluation.results[1]).source
        == "sums.csv (mode structured, its schema not enforced)"
    )
    told = " ".join(how_it_was_asked(outcome.evaluation))
    assert "The server ignored the schema: 0 of 12 replies are JSON of it." in told
    lines = "\n".join(evaluation_lines(outcome.evaluation, outcome.notes))
    assert lines.count("The server ignored the schema: 0 of 12 replies are JSON of it") == 2, (
        "the run, the verdict"
    )
    assert "Not compared. Runs " in lines
    assert look([kept.plan_id], given).comparisons == ()
    with closing(Store.open(given.database_url)) as store:
        with pytest.raises(
            ConfigError, match=r"ignored the schema: 0 of 12 replies are JSON .* --mode generate"
        ):
            compared(over(store), [kept.id, free.id])
        board = leaderboard(given)
        assert len(board.places) == 1
        assert any("other mode of answering" in line for line in board.left_out)


def test_one_reply_that_breaks_the_schema_shows_that_it_is_not_enforced(given, tmp_path):
    (run,) = runs_of(ask(given, tmp_path, slipping=Slipping()))
    assert run.manifest.schema == Adherence(ROWS - 2, ROWS - 3), "cut and empty replies tell nothing"
    assert not run.manifest.schema.enforced


def test_a_resumed_run_counts_all_its_replies(given, tmp_path):
    broken = iter([(400, {"error": {"message": "not this one"}})])
    outcome = ask(given, tmp_path, kept=lambda request: next(broken, None) or strict(request))
    (run,) = runs_of(outcome)
    assert run.manifest.schema == Adherence(ROWS - 1, ROWS - 1)
    url = run.cell.model.base_url
    assert url is not None
    port = int(url.rpartition(":")[2].removesuffix("/v1"))
    with odd_server({"/v1/models": models("kept")}, ignoring, port=port):
        (run,) = runs_of(resume([run.id], given))
    assert run.manifest.schema == Adherence(ROWS, ROWS - 1)


def test_a_run_kept_before_this_was_counted_is_compared_as_it_was(given, tmp_path):
    (kept,) = runs_of(ask(given, tmp_path, kept=strict))
    (other,) = runs_of(ask(given, tmp_path, other=strict))
    with closing(Store.open(given.database_url)) as store:
        store.set_manifest(other.id, replace(other.manifest, schema=None))
        assert len(compared(over(store), [kept.id, other.id]).evaluation.comparisons) == 1
