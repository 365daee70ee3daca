"""Workers in processes of their own, killed and ended at any moment: nothing is lost, doubled or left behind."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from jobs_world import World, children_of, kill, until, world
from proctor.service.runs import queue
from proctor.store.core.tables import RUN
from proctor.store.queue import taking
from proctor.types import Run, Status
from programs import HANG_S

pytestmark = pytest.mark.slow  # whole runs in processes of their own
LEASE = ("--lease", "2")
N = 200


@pytest.fixture
def here(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path, n=N) as made:
        made.simulate("--latency", "0.1")
        yield made


@pytest.fixture
def long(tmp_path: Path) -> Iterator[World]:
    """As above, with more items than any test waits for."""
    with world(tmp_path, n=20_000) as made:
        made.simulate("--latency", "0.1")
        yield made


def at_work(here: World, run: Run, settled: int = 4) -> int:
    """The process of a run that has begun to settle items."""
    until(lambda: here.run(run).settled >= settled, "some are settled")
    (child,) = children_of(run)
    return child


def killed(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def complete(here: World, run: Run) -> Run:
    until(lambda: here.ended(run), "end")
    done = here.run(run)
    assert (done.status, done.settled, done.error) == (Status.COMPLETED, N, None)
    assert len(list(here.store.latest(run.id))) == N
    return done


def test_a_run_goes_on_without_its_worker_and_no_other_takes_it(here: World) -> None:
    run = here.submit()
    first = here.program("worker")
    at_work(here, run)
    killed(first)
    until_then = lease_until(here, run)
    here.program("worker")
    until(lambda: here.ended(run) or lease_until(here, run) > until_then, "it keeps its own lease")
    complete(here, run)
    assert here.log(run).count(" begins, as ") == 1
    assert queue.job(here.context, run.id).tries == 1


def lease_until(here: World, run: Run) -> float:
    with here.store.reading() as connection:
        found = connection.execute(select(RUN.c.lease_until).where(RUN.c.id == run.id)).scalar_one()
    return found or 0.0


def test_a_run_without_its_worker_can_be_cancelled(long: World) -> None:
    run = long.submit()
    first = long.program("worker")
    at_work(long, run)
    killed(first)
    queue.cancel(long.context, run.id)
    until(lambda: long.run(run).status is Status.CANCELLED, "cancelled")
    until(lambda: children_of(run) == [], "its process has ended")
    assert 0 < long.run(run).settled < long.n


def test_a_run_without_its_worker_is_cancelled_while_its_rows_are_being_read(here: World) -> None:
    here.mkfifo()
    run = here.submit()
    first = here.program("worker")
    until(lambda: "begins" in here.log(run), "its process is at work")
    killed(first)
    queue.cancel(here.context, run.id)
    until(lambda: here.run(run).status is Status.CANCELLED, "cancelled")
    until(lambda: children_of(run) == [], "its process has ended")


DEAF = """
import signal, sys, time
from proctor.service.runs.lease import Lease
from proctor.store import Store
store = Store.open(sys.argv[1])
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with Lease(store, sys.argv[2], "deaf", 60.0):
    print("there", flush=True)
    time.sleep(600)
"""


def test_a_process_that_nothing_ends_is_ended_by_its_own_lease(here: World) -> None:
    run = here.submit()
    taken = {"now": time.time(), "lease_s": 60.0, "most_running": 3}
    assert taking.take_next(here.store, owner="deaf", **taken) is not None
    words = [sys.executable, "-c", DEAF, here.database_url, run.id]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=here.environ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"there\n"
        queue.cancel(here.context, run.id)
        until(lambda: here.run(run).status is Status.CANCELLED, "cancelled")
        assert process.wait(timeout=HANG_S) == 128 + signal.SIGKILL


@pytest.mark.parametrize("n", [0, 1])
def test_when_worker_and_process_die_the_next_worker_goes_on_after_the_lease(here: World, n: int) -> None:
    server = here.simulate("--latency", "0.1")
    run = here.submit()
    first = here.program("worker", *LEASE)
    child = at_work(here, run)
    # In either order: the worker must not see its child's death, or the child its worker's.
    if n:
        killed(first)
        kill([child])
    else:
        first.send_signal(signal.SIGSTOP)
        kill([child])
        killed(first)
    kept = {item for item, _ in here.store.settled(run.id)}
    assert 0 < len(kept) < N
    here.program("worker", *LEASE)
    complete(here, run)
    asked = here.asked(server)
    assert {item: asked[item] for item in kept} == dict.fromkeys(kept, 1)
    assert queue.job(here.context, run.id).tries == 1, "a lost worker is not the run's doing"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_that_is_ended_puts_its_run_back_and_the_try_does_not_count(
    here: World, number: int
) -> None:
    run = here.submit()
    first = here.program("worker")
    child = at_work(here, run)
    first.send_signal(number)
    _, said = first.communicate(timeout=HANG_S)
    assert first.returncode == 0, said
    assert children_of(run) == [] and child
    back = here.run(run)
    assert (back.status, back.stopped, back.error) == (Status.PENDING, None, None)
    assert 0 < back.settled < N
    assert queue.job(here.context, run.id).tries == 0
    assert "Traceback" not in said
    here.program("worker", "--once")
    complete(here, run)


def test_once_ends_when_nothing_waits(here: World) -> None:
    runs = [here.submit(for_s=0.5) for _ in range(4)]
    process = here.program("worker", "--once")
    _, said = process.communicate(timeout=HANG_S)
    assert process.returncode == 0, said
    assert [here.run(run).status for run in runs] == [Status.COMPLETED] * 4
    assert queue.worker_seen(here.context) is not None
    again = here.program("worker", "--once")
    assert again.communicate(timeout=HANG_S) is not None and again.returncode == 0


def test_kills_at_random_moments_lose_and_double_nothing(tmp_path: Path, database_url: str) -> None:
    """Two runs, two workers; now a worker dies, now a run's process, now both."""
    chance = random.Random(20261121)
    with world(tmp_path, database_url, n=150) as here:
        server = here.simulate("--latency", "0.08")
        runs = [here.submit(), here.submit(user="bob")]
        workers = [here.program("worker", *LEASE) for _ in range(2)]
        for turn in range(4):
            # The moment is what is being tested: somewhere in the next fifth of the work.
            moment = 2 * 150 * (turn + chance.random()) / 5
            until(lambda: sum(here.run(run).settled for run in runs) >= moment, f"turn {turn}")  # noqa: B023 - waited for at once
            if turn % 2:
                place = chance.randrange(2)
                killed(workers[place])
                workers[place] = here.program("worker", *LEASE)
            else:
                kill(children_of(runs[turn // 2])[:1])
        for run in runs:
            until(lambda run=run: here.ended(run), "end")  # type: ignore[misc]  # bound now
            done = here.run(run)
            assert (done.status, done.settled) == (Status.COMPLETED, 150), done.error
            rows = list(here.store.latest(run.id))
            assert sorted(row.position for row in rows) == list(range(150))
        # Each item once for each run, and again at most what was under way or not yet kept when a process
        # died, or when one that the machine starved for longer than its lease was replaced.
        again = sum(here.asked(server).values()) - 2 * 150
        assert 0 <= again <= 4 * (4 + 40)
