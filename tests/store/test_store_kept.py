"""What version 0.1.0 left is opened, shown, compared, read again and resumed by this version, on both databases.

`kept/proctor-0007.sql` is its SQLite file as text, `kept/proctor-0007.json` what it said of it, the other files the
questions it asked. They are never made anew: a later version that cannot read them is the fault.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import urllib.request
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select

from opened import look, rescore, resume
from proctor.service.context import open_store
from proctor.service.evidence.evaluation import evaluation
from proctor.service.opening.simulate import known_answers
from proctor.service.results import documents
from proctor.service.results.results import shown
from proctor.settings import Settings, read_settings
from proctor.simulator import spawn
from proctor.store import Store
from proctor.store.core.tables import METADATA
from proctor.types import Status

KEPT = Path(__file__).parent / "kept"
FOLDER = "/tmp/proctor-kept"  # where the questions lay when the runs were made
TOLD = json.loads((KEPT / "proctor-0007.json").read_text(encoding="utf-8"))
RUNS: dict[str, Any] = TOLD["runs"]
QUESTIONS = ("hills.jsonl", "lenient.csv", "moods.csv", "own.toml")


@dataclass(frozen=True)
class Old:
    """A database as version 0.1.0 left it, and the settings that lead to it."""

    home: Path
    environ: dict[str, str]

    @property
    def settings(self) -> Settings:
        return read_settings(self.environ)


@pytest.fixture
def old(tmp_path: Path, database_url: str) -> Old:
    home = tmp_path / "old"
    home.mkdir()
    for file in QUESTIONS:
        shutil.copy(KEPT / file, home)
    script = (KEPT / "proctor-0007.sql").read_text(encoding="utf-8").replace(FOLDER, str(home))
    place = home / "proctor.db"
    with closing(sqlite3.connect(place)) as database:
        database.executescript(script)
    environ = {"PROCTOR_HOME": str(home), "PROCTOR_DATABASE_URL": f"sqlite:///{place}"}
    if not database_url.startswith("sqlite"):
        _moved(f"sqlite:///{place}", database_url)
        environ["PROCTOR_DATABASE_URL"] = database_url
    return Old(home, environ)


def _moved(source: str, target: str) -> None:
    """Every row of a SQLite store, brought up to date, in an empty PostgreSQL one."""
    before, after = Store.open(source), Store.open(target)
    with closing(before), closing(after), before.reading() as rows, after.whole.writing() as connection:
        for table in METADATA.sorted_tables:
            connection.execute(table.delete())
            if found := [dict(row._mapping) for row in rows.execute(select(table))]:
                connection.execute(insert(table), found)


def facts(run: dict[str, Any]) -> dict[str, Any]:
    """Of a run's document, what was told of it when it was made."""
    figures = ("task", "metric", "value", "low", "high", "scored", "asked")
    return {
        "id": run["run_id"],
        "title": run["source_title"],
        **{name: run[name] for name in ("status", "model", "planned", "settled", "outcomes")},
        "scores": [[score[name] for name in figures] for score in run["scores"]],
    }


def test_every_run_shows_what_it_showed(old: Old) -> None:
    shown = documents.evaluation(look([run["id"] for run in RUNS.values()][:1], old.settings))
    assert shown["runs"], "one alone"
    for name, told in RUNS.items():
        (run,) = documents.evaluation(look([told["id"]], old.settings))["runs"]
        found = facts(run)
        scores = found.pop("scores")
        assert found == {key: value for key, value in told.items() if key != "scores"}, name
        assert [score[:2] for score in scores] == [score[:2] for score in told["scores"]], name
        for now, then in zip(scores, told["scores"], strict=True):
            assert now[2:] == pytest.approx(then[2:]), (name, then[:2])


def test_runs_are_compared_as_they_were_and_their_replies_are_read_again(old: Old) -> None:
    for pair, told in TOLD["comparisons"].items():
        ids = [RUNS[name]["id"] for name in pair.split()]
        with open_store(old.settings) as store:
            # As if these runs were all there are: that version did not count what else had been tried.
            found = documents.evaluation(evaluation(store, [shown(store, store.run(ident)) for ident in ids]))
        assert found["comparisons"][0]["verdict"] == told["verdict"], pair
        assert found["verdict"] == told["sentence"], pair
        assert look(ids, old.settings).verdict.startswith(told["sentence"][:20]), pair
    for name in ("suite.0", "choices.0", "logprob.0", "repeats.0", "file.0", "own.0", "shots.0"):
        again = rescore(RUNS[name]["id"], ["proctor/2"], old.settings)
        assert again.by[-1].outcomes == RUNS[name]["outcomes"], name


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on(old: Old) -> None:
    with spawn([], known_answers(old.settings, [old.home / "hills.jsonl"])) as server:
        there = read_settings({**old.environ, "OLLAMA_HOST": server.url})
        ended = resume([RUNS["killed.0"]["id"]], there)
        with urllib.request.urlopen(f"{server.url}/__stats", timeout=30) as answer:
            asked = json.load(answer)
    assert ended.error is None and ended.unfinished == () and ended.evaluation is not None
    (result,) = ended.evaluation.results
    assert (result.run.status, result.run.settled) == (Status.COMPLETED, 12)
    assert sum(result.tally.outcomes.values()) == 12
    assert asked["served"] == 8, "what was kept is not asked again"
