"""A run that dies while its scores are being written: no end without scores, whatever died and whenever."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import delete, update

from jobs_world import World, children_of, kill, until, world
from postgres_server import Postgres
from proctor.findings import Score
from proctor.service.context import Context
from proctor.service.watch import overview
from proctor.service.watch.models import model_page
from proctor.store.core.tables import RUN, SCORE
from proctor.store.read.history import Searched
from proctor.store.write import summaries
from proctor.types import Run, Status
from programs import proctor, proctor_json

pytestmark = pytest.mark.slow  # whole runs in processes of their own
N = 12

# Writing a score takes for ever: a process that writes them stands still at that very moment.
STOPS = {
    "sqlite": [
        "CREATE TRIGGER stops BEFORE INSERT ON score BEGIN SELECT (WITH RECURSIVE n(x) AS "
        "(SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000000000000) SELECT max(x) FROM n); END"
    ],
    "postgresql": [
        "CREATE FUNCTION stops() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM pg_sleep(100000); RETURN NEW; END $$",
        "CREATE TRIGGER stops BEFORE INSERT ON score FOR EACH ROW EXECUTE FUNCTION stops()",
    ],
}
GOES_ON = {"sqlite": "DROP TRIGGER stops", "postgresql": "DROP TRIGGER stops ON score"}


STILL = "FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()"


def hold_scores(here: World) -> None:
    with here.store.writing() as connection:
        for statement in STOPS[here.store.engine.name]:
            connection.exec_driver_sql(statement)


def let_scores_go(here: World) -> None:
    """As if nothing had ever stood in the way; what a killed process left open on the server is ended."""
    if here.store.engine.name == "postgresql":
        with here.store.reading() as connection:
            connection.exec_driver_sql(f"SELECT pg_terminate_backend(pid) {STILL}")
    with here.store.writing() as connection:
        connection.exec_driver_sql(GOES_ON[here.store.engine.name])


def writes_scores(here: World) -> bool:
    """Whether a process stands still in the trigger, with every item settled."""
    if [run.settled for run in here.store.runs()] != [N]:
        return False
    if here.store.engine.name == "postgresql":
        with here.store.reading() as connection:
            return connection.exec_driver_sql(f"SELECT 1 {STILL}").first() is not None
    # Only the trigger holds SQLite's lock for as long as that.
    return all(is_locked(here) for _ in range(5))


def is_locked(here: World) -> bool:
    time.sleep(0.1)
    connection = sqlite3.connect(str(here.store.url.database), timeout=0.0, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError:
        return True
    finally:
        connection.close()
    return False


def ended_with_scores(here: World) -> None:
    (run,) = here.store.runs()
    assert (run.status, run.settled, run.partial, run.error) == (Status.COMPLETED, N, False, None)
    assert here.store.scores(run.id)[0].estimate.value is not None
    assert summaries.get(here.store, run.id) is not None


@pytest.mark.promise("G-31")
def test_a_run_that_is_killed_while_its_scores_are_written_has_not_ended(
    tmp_path: Path, database_url: str
) -> None:
    with world(tmp_path, database_url, n=N) as here:
        here.simulate()
        hold_scores(here)
        process = here.program("run", str(here.file), "--model", "ollama/sim")
        until(lambda: writes_scores(here), "it writes its scores")
        process.kill()
        process.communicate()
        let_scores_go(here)
        (run,) = here.store.runs()
        assert run.status is Status.RUNNING, "an end without scores is none"
        told = proctor(here.home, "show", run.id, **variables(here)).stdout
        assert "its process was killed" in told
        proctor(here.home, "resume", run.id, **variables(here))
        ended_with_scores(here)


def variables(here: World) -> dict[str, str]:
    return {name: value for name, value in here.environ.items() if name != "PROCTOR_HOME"}


def test_a_job_that_is_killed_while_its_scores_are_written_is_taken_up_again(tmp_path: Path) -> None:
    with world(tmp_path, n=N) as here:
        here.simulate()
        hold_scores(here)
        run = here.submit()
        here.program("worker")
        until(lambda: writes_scores(here), "it writes its scores")
        kill(children_of(run))
        let_scores_go(here)
        until(lambda: here.ended(run), "it ends")
        ended_with_scores(here)


def test_a_database_that_crashes_while_scores_are_written_has_no_end_without_them(
    tmp_path: Path, own_postgres: Postgres
) -> None:
    url = own_postgres.url(own_postgres.new_database())
    with world(tmp_path, url, n=N) as here:
        here.simulate()
        hold_scores(here)
        process = here.program("run", str(here.file), "--model", "ollama/sim")
        until(lambda: writes_scores(here), "it writes its scores")
        own_postgres.crash_and_recover()
        _, said = process.communicate(timeout=60)
        assert process.returncode == 3 and "Error (store)" in said and "proctor resume" in said
        let_scores_go(here)
        proctor(here.home, "resume", here.store.runs()[0].id, **variables(here))
        ended_with_scores(here)


# --- what was kept by an older version, or ended by a worker, without scores


def without_figures(here: World, run: Run) -> None:
    with here.store.writing() as connection:
        connection.execute(delete(SCORE).where(SCORE.c.run_num == here.store.number(run.id)))
        connection.execute(update(RUN).where(RUN.c.id == run.id).values(summary=None))


def figures(here: World, run: Run) -> tuple[tuple[Score, ...], object]:
    return here.store.scores(run.id), summaries.get(here.store, run.id)


def served(here: World, _run: Run) -> None:
    process = here.program("serve", "--no-worker", "--port", "0")
    assert process.stdout is not None and "proctor serves" in process.stdout.readline()


def swept(here: World, _run: Run) -> None:
    process = here.program("worker")
    assert process.stderr is not None
    until(lambda: "ended without scores" in process.stderr.readline(), "the worker says so")  # type: ignore[union-attr]  # it is a pipe


def lm_eval(here: World, run: Run) -> None:
    proctor(here.home, "export", run.id, "--format", "lm-eval", "-o", str(here.home / "out"))


FINDERS: dict[str, Callable[[World, Run], object]] = {
    "the server when it opens": served,
    "a worker": swept,
    "show": lambda here, run: proctor_json(here.home, "show", run.id),
    "list": lambda here, _run: proctor_json(here.home, "list"),
    "export": lm_eval,
    "a model's page": lambda here, run: model_page(Context(here.settings, here.store), "ollama", "sim"),
    "overview": lambda here, run: overview.overview(
        Context(here.settings, here.store), source=None, metric="score", days=7
    ),
    "history": lambda here, run: overview.page(Context(here.settings, here.store), Searched()),
}


def test_whoever_finds_an_ended_run_without_scores_gives_it_them(tmp_path: Path) -> None:
    with world(tmp_path, n=N) as here:
        here.simulate()
        proctor(here.home, "run", str(here.file), "--model", "ollama/sim", **variables(here))
        (run,) = here.store.runs()
        before = figures(here, run)
        for name, find in FINDERS.items():
            without_figures(here, run)
            find(here, run)
            assert figures(here, run) == before, name
