"""A process that is killed while it keeps attempts: what it counted is there, once, and the next goes on."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
from store_examples import new_run

from proctor.store import Store
from proctor.types import Status

pytestmark = pytest.mark.slow  # processes that are killed
PLANNED = 3000
KILLS = 6
PROGRAM = Path(__file__).with_name("store_examples.py")


def start(url: str, run_id: str, turn: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(PROGRAM), url, run_id, f"owner-{turn}", f"owner-{turn - 1}"]
    # Unbuffered, because `communicate` does not see what a buffered `readline` has read ahead.
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)


def counted(lines: list[bytes]) -> int:
    return sum(int(line) for line in lines if line.endswith(b"\n") and line != b"end\n")


@pytest.mark.promise("G-31")
def test_kill_9_at_any_moment_loses_and_doubles_no_committed_row(database_url: str) -> None:
    store = Store.open(database_url)
    run = new_run(store, PLANNED)
    chance = random.Random(20261121)
    told, unheard = 0, 0
    for turn in range(KILLS):
        process = start(database_url, run.id, turn)
        assert process.stdout is not None
        assert process.stderr is not None
        # The moment is somewhere in or between two transactions, after a random number of them.
        lines = [process.stdout.readline() for _ in range(chance.randrange(1, 25))]
        process.kill()
        rest, errors = process.communicate()
        assert errors == b""
        assert b"end\n" not in rest, "it was over before it was killed; plan more attempts"
        told += counted(lines) + counted(rest.splitlines(keepends=True))
        there = store.settled(run.id)
        # The last commit before the kill may not have been told.
        assert 0 <= len(there) - told - unheard <= 16
        unheard = len(there) - told
        assert store.run(run.id).settled == len(there)
    process = start(database_url, run.id, KILLS)
    rest, errors = process.communicate()
    assert (process.returncode, errors) == (0, b"")
    over = store.finish(run.id, Status.COMPLETED, owner=f"owner-{KILLS}", now=0.0, elapsed_s=0.0)
    assert (over.settled, over.partial) == (PLANNED, False)
    rows = list(store.latest(run.id))
    assert [row.position for row in rows] == list(range(PLANNED))
    assert {row.attempt for row in rows} == {0}, "no committed item was asked again"
    with store.reading() as connection:
        for table in ("attempt", "payload"):
            assert connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar() == PLANNED
    store.close()
