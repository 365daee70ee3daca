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

from jobs_world import World, children_of, kill, until, world
from proctor.service import queue
from proctor.store import queue as store_queue
from proctor.types import Run, Status

pytestmark = pytest.mark.slow  # whole runs in processes of their own
LEASE = ("--lease", "2")


@pytest.fixture
def here(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path, n=120) as made:
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
    until(lambda: here.ended(run), "end", s=60)
    done = here.run(run)
    assert (done.status, done.settled, done.error) == (Status.COMPLETED, 120, None)
    assert len(list(here.store.latest(run.id))) == 120
    return done


def test_a_run_goes_on_without_its_worker_and_no_other_takes_it(here: World) -> None:
    run = here.submit()
    first = here.program("worker", *LEASE)
    child = at_work(here, run)
    owner = here.store.owner_of(run.id)
    killed(first)
    here.program("worker", *LEASE)
    until(lambda: here.run(run).settled >= 60, "it goes on")
    assert children_of(run) == [child]
    assert here.store.owner_of(run.id) == owner
    complete(here, run)
    assert queue.job(here.store, run.id).tries == 1


def test_a_run_without_its_worker_is_cancelled_within_2_s(here: World) -> None:
    run = here.submit()
    first = here.program("worker", *LEASE)
    at_work(here, run)
    killed(first)
    queue.cancel(here.store, run.id)
    until(lambda: here.run(run).status is Status.CANCELLED, "cancelled", s=2.0)
    until(lambda: children_of(run) == [], "its process has ended")
    assert 0 < here.run(run).settled < 120


def test_a_run_without_its_worker_is_cancelled_while_its_rows_are_being_read(here: World) -> None:
    here.mkfifo()
    run = here.submit()
    first = here.program("worker", *LEASE)
    until(lambda: "begins" in here.log(run), "its process is at work")
    killed(first)
    queue.cancel(here.store, run.id)
    until(lambda: here.run(run).status is Status.CANCELLED, "cancelled", s=2.0)
    until(lambda: children_of(run) == [], "its process has ended")


DEAF = """
import signal, sys, time
from proctor.service.lease import Lease
from proctor.store import Store
store = Store.open(sys.argv[1])
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with Lease(store, sys.argv[2], "deaf", 2.0):
    print("there", flush=True)
    time.sleep(600)
"""


def test_a_process_that_nothing_ends_is_ended_by_its_own_lease(here: World) -> None:
    run = here.submit()
    taken = {"now": time.time(), "lease_s": 2.0, "most_running": 3}
    assert store_queue.take_next(here.store, owner="deaf", **taken) is not None
    words = [sys.executable, "-c", DEAF, here.database_url, run.id]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=here.environ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"there\n"
        queue.cancel(here.store, run.id)
        until(lambda: here.run(run).status is Status.CANCELLED, "cancelled", s=2.0)
        assert process.wait(timeout=10) == 128 + signal.SIGKILL


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
    assert 0 < len(kept) < 120
    here.program("worker", *LEASE)
    complete(here, run)
    asked = here.asked(server)
    assert {item: asked[item] for item in kept} == dict.fromkeys(kept, 1)
    assert queue.job(here.store, run.id).tries == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_that_is_ended_puts_its_run_back_and_the_try_does_not_count(
    here: World, number: int
) -> None:
    run = here.submit()
    first = here.program("worker")
    child = at_work(here, run)
    first.send_signal(number)
    _, said = first.communicate(timeout=15)
    assert first.returncode == 0, said
    assert children_of(run) == [] and child
    back = here.run(run)
    assert (back.status, back.stopped, back.error) == (Status.PENDING, None, None)
    assert 0 < back.settled < 120
    assert queue.job(here.store, run.id).tries == 0
    assert "Traceback" not in said
    here.program("worker", "--once")
    complete(here, run)


def test_once_ends_when_nothing_waits(here: World) -> None:
    runs = [here.submit(for_s=0.5) for _ in range(4)]
    process = here.program("worker", "--once")
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert [here.run(run).status for run in runs] == [Status.COMPLETED] * 4
    assert queue.worker_seen(here.settings) is not None
    again = here.program("worker", "--once")
    assert again.communicate(timeout=30) is not None and again.returncode == 0


def test_kills_at_random_moments_lose_and_double_nothing(tmp_path: Path, database_url: str) -> None:
    """Two runs, two workers; now a worker dies, now a run's process, now both."""
    chance = random.Random(20261121)
    with world(tmp_path, database_url, n=150) as here:
        server = here.simulate("--latency", "0.08")
        runs = [here.submit(), here.submit(user="bob")]
        workers = [here.program("worker", *LEASE) for _ in range(2)]
        for turn in range(4):
            time.sleep(chance.uniform(0.8, 1.6))  # the moment is what is being tested
            if turn % 2:
                place = chance.randrange(2)
                killed(workers[place])
                workers[place] = here.program("worker", *LEASE)
            else:
                kill(children_of(runs[turn // 2])[:1])
        for run in runs:
            until(lambda run=run: here.ended(run), "end", s=60)  # type: ignore[misc]  # bound now
            done = here.run(run)
            assert (done.status, done.settled) == (Status.COMPLETED, 150), done.error
            rows = list(here.store.latest(run.id))
            assert sorted(row.position for row in rows) == list(range(150))
        # Each item once for each run, and again at most what was under way when a process died.
        again = sum(here.asked(server).values()) - 2 * 150
        assert 0 <= again <= 2 * (4 + 40)
