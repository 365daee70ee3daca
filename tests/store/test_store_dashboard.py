"""What the dashboard keeps and counts: notes, sessions, how runs go, summaries."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url
from store_examples import NOW, answered, claimed, failed, keep_all

import proctor.store
from opened import over
from proctor.errors import NotFound
from proctor.findings import Estimate, Score
from proctor.manifest_json import manifest_from
from proctor.service.results.comparable import comparability, exam
from proctor.service.results.profile import profile_of, summary_of, tally_of
from proctor.store import Store
from proctor.store.admin import access, sessions
from proctor.store.admin.access import ApiKey
from proctor.store.core import scores
from proctor.store.core.scores import Figures
from proctor.store.queue import endings
from proctor.store.queue.endings import Verdict
from proctor.store.read import history, lists
from proctor.store.read.history import Searched
from proctor.store.read.lists import RunFilter
from proctor.store.write import notes, summaries, throughput
from proctor.store.write.notes import Note
from proctor.store.write.throughput import Progress
from proctor.types import Attempt, Outcome, Run, Status


def finished(store: Store, run: Run, status: Status = Status.COMPLETED, **ending: Any) -> Run:
    return store.finish(run.id, status, owner="me", elapsed_s=1.0, **{"now": time.time(), **ending})


# --- notes


def words(item_id: str = "boolq/1", repeat: int = 0, flag: bool = False, said: str = "odd") -> Note:
    return Note(0, item_id, repeat, "ann", NOW, flag, said)


def test_notes_come_back_with_their_item_in_the_order_of_writing(store: Store) -> None:
    run, other = claimed(store), claimed(store)
    first = notes.add(store, run.id, words(said="it's <b>odd</b> 日本"))
    notes.add(store, run.id, words(repeat=1))
    notes.add(store, other.id, words())
    second = notes.add(store, run.id, words(flag=True, said=""))
    assert notes.of_item(store, run.id, "boolq/1", 0) == [first, second]
    assert first == replace(words(said="it's <b>odd</b> 日本"), id=first.id)
    assert notes.of_item(store, run.id, "boolq/2", 0) == []


def test_an_answer_is_flagged_if_any_of_its_notes_is(store: Store) -> None:
    run = claimed(store)
    for item_id, repeat, flag in (("a", 0, False), ("a", 0, True), ("a", 1, False), ("b", 0, True)):
        notes.add(store, run.id, words(item_id, repeat, flag))
    assert notes.marked(store, run.id) == {("a", 0): True, ("a", 1): False, ("b", 0): True}
    assert notes.marked(store, claimed(store).id) == {}


def test_a_note_is_removed_once_and_from_its_own_run_only(store: Store) -> None:
    run, other = claimed(store), claimed(store)
    note = notes.add(store, run.id, words())
    with pytest.raises(NotFound):
        notes.remove(store, other.id, note.id)
    notes.remove(store, run.id, note.id)
    assert notes.of_item(store, run.id, "boolq/1", 0) == []
    with pytest.raises(NotFound):
        notes.remove(store, run.id, note.id)


def test_a_note_keeps_what_no_database_takes_in_another_form(store: Store) -> None:
    assert notes.add(store, claimed(store).id, words(said="a\0b")).text == "a\ufffdb"


# --- sessions


def api_key(store: Store, digest: str) -> ApiKey:
    return access.add_key(store, ApiKey(0, "ann", "laptop", "pk_", ("read", "run"), NOW, None, None), digest)


def test_a_session_stands_for_its_key_until_it_is_over(store: Store) -> None:
    key = api_key(store, "d")
    sessions.open_session(store, "cookie", key.id, now=NOW, until=NOW + 60)
    assert sessions.key_of_session(store, "cookie", now=NOW + 59.9) == key
    assert sessions.key_of_session(store, "cookie", now=NOW + 60) is None
    assert sessions.key_of_session(store, "other", now=NOW) is None


def test_a_session_ends_with_the_log_out_and_with_its_key(store: Store) -> None:
    key, kept = api_key(store, "d"), api_key(store, "e")
    for digest, each in (("one", key), ("two", key), ("three", kept)):
        sessions.open_session(store, digest, each.id, now=NOW, until=NOW + 60)
    sessions.close_session(store, "one")
    assert sessions.key_of_session(store, "one", now=NOW) is None
    assert sessions.key_of_session(store, "two", now=NOW) == key
    access.revoke_key(store, key.id, now=NOW)
    assert sessions.key_of_session(store, "two", now=NOW) is None
    assert sessions.key_of_session(store, "three", now=NOW) == kept


def test_sessions_that_are_over_go_with_the_next_one(store: Store) -> None:
    key = api_key(store, "d")
    for n in range(3):
        sessions.open_session(store, f"{n}", key.id, now=NOW + n * 100, until=NOW + n * 100 + 60)
    with store.reading() as connection:
        left = list(connection.execute(text("SELECT digest FROM session")).scalars())
    assert left == ["2"]


# --- how a run goes


def moment(at: float, done: int = 0) -> Progress:
    return Progress(NOW + at, done, 8, 3.5, 700.25, 2, 1, 0.125, 10.0, 20.0)


def test_moments_come_in_the_order_of_time_whatever_the_order_of_writing(store: Store) -> None:
    run, other = claimed(store), claimed(store)
    unknown = replace(moment(2, 5), cost_usd=None, low_s=None, high_s=None)
    for beat in (moment(4, 9), moment(0), unknown):
        throughput.add(store, run.id, beat)
    throughput.add(store, other.id, moment(8))
    assert throughput.of_run(store, run.id) == [moment(0), unknown, moment(4, 9)]
    assert throughput.last(store, run.id) == moment(4, 9)
    assert throughput.last(store, claimed(store).id) is None


# --- summaries


def answers() -> list[Attempt]:
    made = [
        answered(n, group="boolq" if n % 3 else "rte", latency_s=0.5 + n, input_tokens=n, output_tokens=2 * n)
        for n in range(20)
    ]
    made[4] = failed(4)
    made[5] = answered(5, outcome=Outcome.WRONG)
    return made


def figures(store: Store, run: Run, *scores: Score) -> Figures:
    return Figures(scores, summary_of(store, run, store.tally(run.id)))


def test_what_is_kept_is_what_would_be_counted(store: Store) -> None:
    run = claimed(store, 20)
    keep_all(store, run, *answers(), answered(4, attempt=1))
    counted = profile_of(over(store), run), tally_of(store, run)
    assert summaries.get(store, run.id) is None
    ended = finished(store, run, figures=figures(store, run))
    assert summaries.get(store, run.id) is not None
    assert (profile_of(over(store), ended), tally_of(store, ended)) == counted
    assert counted[0].tasks == {"boolq": {"correct": 12, "wrong": 1}, "rte": {"correct": 7}}
    assert counted[1].outcomes == {"correct": 19, "wrong": 1}


def test_pages_read_what_is_kept_and_not_the_rows(store: Store) -> None:
    """A run with a million rows is counted once: were it counted again, this row would be seen."""
    run = claimed(store, 3)
    keep_all(store, run, answered(0), answered(1))
    ended = finished(store, run, figures=figures(store, run))
    with store.writing() as connection:
        connection.execute(text("UPDATE attempt SET outcome = 'wrong'"))
    assert tally_of(store, ended).outcomes == {"correct": 2}


def test_a_run_that_is_taken_up_again_is_counted_anew_however_it_ends(store: Store) -> None:
    """A worker that dies writes no summary: that of the first sitting must not stand for the second."""
    run = claimed(store, 3)
    keep_all(store, run, answered(0))
    all_right = Score("", "All", "accuracy", Estimate(1.0, None, None, None, 1, 1, "none"))
    finished(store, run, stopped="interrupted", figures=figures(store, run, all_right))
    again = store.claim(run.id, owner="me", now=time.time(), lease_s=600)
    keep_all(store, again, answered(1), answered(2, outcome=Outcome.WRONG))
    assert tally_of(store, again).outcomes == {"correct": 2, "wrong": 1}
    assert endings.end(store, run.id, Verdict(Status.FAILED, error="died"), owner="me", now=time.time())
    dead = store.run(run.id)
    assert dead.finished_at is not None
    assert tally_of(store, dead).outcomes == {"correct": 2, "wrong": 1}
    assert profile_of(over(store), dead).tasks == {"boolq": {"correct": 2, "wrong": 1}}
    assert store.scores(run.id) == ()


def test_measured_reads_each_asking_once(store: Store) -> None:
    run = claimed(store, 3)
    keep_all(store, run, failed(0), answered(0, attempt=1, latency_s=2.0), answered(0, repeat=1), failed(1))
    rows = [row for page in summaries.measured(store, run.id) for row in page]
    assert sorted(row.outcome for row in rows) == ["correct", "correct", "error"]
    assert sorted(row.latency_s or 0.0 for row in rows) == [0.0, 0.0, 2.0]


# --- the migration


def at_0002(url: str, manifests: Sequence[Mapping[str, Any]] = ()) -> None:
    """A database as the version before the dashboard left it, with a run in it."""
    whole = make_url(url)
    driver = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg"}[whole.get_backend_name()]
    if driver == "sqlite":
        Path(str(whole.database)).parent.mkdir(exist_ok=True)
    engine = create_engine(whole.set(drivername=driver))
    config = Config()
    config.set_main_option("script_location", str(Path(proctor.store.__file__).parent / "migrations"))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0002")
        for statement in (
            "INSERT INTO plan VALUES ('p', 'named', '{}', 1.0)",
            "INSERT INTO run (id, plan_id, status, cell, provider, model, source, source_title, sample, planned,"
            " settled, manifest, created_at, finished_at, elapsed_s, project_id) SELECT 'r', 'p', 'completed',"
            " body, 'ollama', 'm', 'glue', 'GLUE', false, 3, 3, '{}', 1.0, 2.0, 1.0, 1 FROM plan",
            *(
                "INSERT INTO attempt (run_num, item_id, repeat, attempt, position, task, item_hash, outcome, score,"
                f" retries, at) SELECT num, '{name}', 0, 0, {n}, 'q', 'h', 'correct', 1.0, 0, 1.0 FROM run"
                for n, name in enumerate(("a/1", "A/1", "a-b/1"))
            ),
            "INSERT INTO item VALUES ('h', '')",
            'INSERT INTO api_key ("user", name, prefix, digest, scopes, created_at)'
            " VALUES ('ann', '', '', 'd', 'read', 1.0)",
        ):
            connection.execute(text(statement))
        for number, manifest in enumerate(manifests):
            copy = text(
                "INSERT INTO run (id, plan_id, status, cell, provider, model, source, source_title, sample, planned,"
                " settled, manifest, created_at, finished_at, elapsed_s, project_id, comparability) SELECT :id,"
                " plan_id,"
                " status, cell, provider, model, source, source_title, sample, planned, settled, :manifest, created_at,"
                " finished_at, elapsed_s, project_id, 'as it was' FROM run WHERE id = 'r'"
            )
            connection.execute(copy, {"id": f"run-{number}", "manifest": json.dumps(manifest)})
    engine.dispose()


def test_runs_of_older_versions_go_on_being_comparable(database_url: str) -> None:
    """The keys that a run has now: alike whatever its items, and another for each set of them."""
    manifests = [
        {"suite": "mmlu", "rows": "hub", "tasks": {"b": "B", "a": "A"}, "prompts": {"mmlu": "mmlu/1"},
         "style": "proctor", "wording": 1, "shots": 0, "shuffle": False, "extractor": "proctor/1",
         "metric_versions": {"accuracy": "accuracy/1"}, "item_set_sha256": items}
        for items in ("all", "few")
    ]  # fmt: skip
    at_0002(database_url, manifests)
    store = Store.open(database_url)
    runs = sorted(line for line in lists.run_lines(store, RunFilter())[0] if line.id != "r")
    for run, manifest in zip(runs, manifests, strict=True):
        assert (run.comparability, run.exam) == tuple(
            key(manifest_from(manifest)) for key in (comparability, exam)
        )
    assert runs[0].comparability == runs[1].comparability
    assert runs[0].exam != runs[1].exam
    store.close()


def test_a_database_of_the_version_before_keeps_its_rows_and_takes_new_ones(database_url: str) -> None:
    at_0002(database_url)
    store = Store.open(database_url)
    assert [row.item_id for row in store.latest("r")] == ["a/1", "A/1", "a-b/1"]
    assert summaries.get(store, "r") is None
    assert store.tally("r").outcomes == {"correct": 3}
    assert history.counts(store, Searched()) == {"completed": 1}
    with store.writing() as connection:
        scores.put(connection, store.number("r"), Figures((), {"kept": True}))
    assert summaries.get(store, "r") == {"kept": True}
    throughput.add(store, "r", moment(1))
    assert throughput.last(store, "r") == moment(1)
    note = notes.add(store, "r", words("a-b/1"))
    assert notes.of_item(store, "r", "a-b/1", 0) == [note]
    (key,) = access.keys(store)
    sessions.open_session(store, "c", key.id, now=NOW, until=NOW + 1)
    assert sessions.key_of_session(store, "c", now=NOW) == key
    store.close()
