"""A full disk and a database that goes away: a clear error, and a run that resume finishes."""

from __future__ import annotations

import signal
import subprocess
import time

import pytest

from proctor.service.context import open_store
from proctor.service.opening.simulate import known_answers
from proctor.simulator import spawn
from programs import HANG_S, command, csv_of_sums, environment, proctor, proctor_json, started
from simulators import settings

pytestmark = pytest.mark.slow  # whole runs in processes of their own

N = 1500


@pytest.fixture
def world(tmp_path):
    file = csv_of_sums(tmp_path / "sums.csv", N)
    home = tmp_path / "home"
    home.mkdir()
    with spawn(["--latency", "0.05"], known_answers(settings(home), [file])) as server:
        yield (
            home,
            ["run", str(file), "--model", "ollama/sim", "--parallel", "24"],
            {"OLLAMA_HOST": server.url},
        )


def test_a_full_disk_ends_in_a_clear_error_and_a_resumable_run(world):
    home, words, more = world
    # A limit on the size of any file it writes: to SQLite this is a disk that is full.
    limited = ["bash", "-c", 'ulimit -f 400; exec "$@"', "bash", *command(*words)]
    done = subprocess.run(
        limited, env=environment(home, **more), cwd=home, text=True, capture_output=True, timeout=HANG_S
    )
    assert done.returncode == 3, done.stderr
    assert "Error (store)" in done.stderr and "disk" in done.stderr
    assert "Traceback" not in done.stderr
    run_id = done.stderr.rpartition("proctor resume ")[2].split()[0]
    kept = proctor_json(home, "show", run_id)["runs"][0]["settled"]
    ended = proctor_json(home, "resume", run_id, **more)["runs"][0]
    assert (ended["status"], ended["settled"], ended["partial"]) == ("completed", N, False)
    assert sum(ended["outcomes"].values()) == N
    assert kept < N


def begun(given, process) -> str:
    """The id of the run, once it has committed something."""
    for _ in range(round(HANG_S / 0.02)):
        assert process.poll() is None, process.stderr.read()
        with open_store(given) as store:
            if (runs := store.runs(limit=1)) and store.settled(runs[0].id):
                return runs[0].id
        time.sleep(0.02)  # another process's progress: there is nothing to wait on but the clock
    raise AssertionError("nothing was committed")


def test_a_killed_database_connection_is_survived(world, postgres, postgres_url):
    home, words, more = world
    more = {**more, "PROCTOR_DATABASE_URL": postgres_url}
    given = settings(home, PROCTOR_DATABASE_URL=postgres_url)
    process = started(home, words, **more)
    run_id = begun(given, process)
    postgres.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        f"WHERE datname = '{postgres_url.rpartition('/')[2]}'"
    )
    _, err = process.communicate(timeout=HANG_S)
    if process.returncode != 0:  # a connection cut at the very end may cost the closing statement
        assert process.returncode == 3 and "Error (store)" in err, err
        proctor(home, "resume", run_id, **more)
    run = proctor_json(home, "show", run_id, **more)["runs"][0]
    assert (run["status"], run["settled"]) == ("completed", N)
    assert "open-sesame" not in err


def test_a_database_that_stays_away_ends_in_a_clear_error(world, own_postgres):
    home, words, more = world
    url = own_postgres.url(own_postgres.new_database())
    process = started(home, words, **more, PROCTOR_DATABASE_URL=url)
    begun(settings(home, PROCTOR_DATABASE_URL=url), process)
    own_postgres.stop()
    _, err = process.communicate(timeout=HANG_S)
    assert process.returncode == 3, err
    assert "Error (store)" in err and "proctor resume" in err
    assert "open-sesame" not in err and "Traceback" not in err


def test_a_database_that_is_not_there_is_named_without_its_password(world):
    home, words, more = world
    url = "postgresql://proctor:open-sesame@127.0.0.1:9/none"
    done = proctor(home, *words, code=5, **more, PROCTOR_DATABASE_URL=url)
    assert "127.0.0.1" in done.stderr and "open-sesame" not in done.stderr


def test_a_frozen_run_loses_its_lease_to_resume_and_cannot_write_any_more(world):
    """A process that is stopped for longer than its lease must not write into a run that goes on elsewhere."""
    home, words, more = world
    process = started(home, words, **more)
    given = settings(home)
    try:
        run_id = begun(given, process)
        process.send_signal(signal.SIGSTOP)
        refused = proctor(home, "resume", run_id, code=2, **more)
        assert "running" in refused.stderr
        with open_store(given) as store:
            # As if the lease had run out: another process claims the run at a later time.
            store.claim(run_id, owner="elsewhere:1", now=time.time() + 3600, lease_s=60)
    finally:
        process.send_signal(signal.SIGCONT)
        _, err = process.communicate(timeout=HANG_S)
    assert process.returncode == 2, err
    assert "another process" in err
