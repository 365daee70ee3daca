"""One run and several processes: it comes to what one process comes to, whoever is killed on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from jobs_world import World, children_of, kill, step, until, world
from proctor.jobs.worker import Worker
from proctor.service.runs import queue
from proctor.simulator import Simulated
from proctor.store.queue import shards
from proctor.types import Run, Status

pytestmark = pytest.mark.slow  # whole runs in processes of their own
N = 1200


@pytest.fixture
def here(tmp_path: Path, database_url: str) -> Iterator[World]:
    with world(tmp_path, database_url, n=N) as made:
        yield made


def two_workers(here: World) -> Callable[[], None]:
    """Two workers, which know of each other before there is a run; a step of both."""
    workers: list[Worker] = [here.worker(lease_s=2.0), here.worker(lease_s=2.0)]

    def both() -> None:
        for worker in workers:
            step(worker)

    both()
    return both


def helpers_of(run: Run) -> list[int]:
    return [pid for pid in children_of(run) if "--helps" in psutil.Process(pid).cmdline()]


def owner_of(run: Run) -> list[int]:
    return [pid for pid in children_of(run) if pid not in helpers_of(run)]


def at_work(here: World, run: Run, both: Callable[[], None]) -> None:
    """Until the owner and a helper have both kept attempts."""

    def shared() -> bool:
        standing = shards.standing(here.store, run.id, now=0.0)
        return standing is not None and len(standing.owners) > 1 and here.run(run).settled > 0

    until(shared, "two are at work", step=both)
    settled = here.run(run).settled
    until(lambda: here.run(run).settled > settled + 50, "they get on", step=both)


def outcomes(here: World, run: Run) -> dict[str, tuple[str, str | None, int]]:
    return {row.item_id: (row.outcome.value, row.answer, row.position) for row in here.store.latest(run.id)}


def complete(here: World, run: Run, both: Callable[[], None]) -> None:
    until(lambda: here.ended(run), "end", step=both)
    done = here.run(run)
    assert (done.status, done.settled, done.error) == (Status.COMPLETED, N, None)
    standing = shards.standing(here.store, run.id, now=0.0)
    assert standing is not None and standing.done == standing.of > 1
    with here.store.reading() as connection:
        count = connection.exec_driver_sql("SELECT count(*) FROM attempt").scalar_one()
    assert count == N  # no second try at anything


def alone(here: World, like: Run) -> Run:
    """The same, asked by one process."""
    run = here.submit(parallel=16)
    one = here.worker()
    # Signs of workers that have just ended count for a while.
    for sign in (here.home / "workers").glob("*.json"):
        sign.unlink()
    until(lambda: here.ended(run), "end", step=lambda: step(one))
    assert shards.standing(here.store, run.id, now=0.0) is None
    return run


def asked_once(here: World, server: Simulated, *, but: int = 0) -> None:
    asked = here.asked(server)
    assert min(asked.values()) == 1 and sum(asked.values()) - N <= but


def test_two_workers_do_one_run_and_it_comes_to_what_one_process_comes_to(here: World) -> None:
    server = here.simulate("--latency", "0.05")
    both = two_workers(here)
    run = here.submit(parallel=16)
    at_work(here, run, both)
    complete(here, run, both)
    asked_once(here, server)
    assert outcomes(here, run) == outcomes(here, alone(here, run))


@pytest.mark.parametrize("whose", [helpers_of, owner_of])
def test_whoever_is_killed_nothing_is_lost_and_nothing_kept_is_asked_again(
    here: World, whose: Callable[[Run], list[int]]
) -> None:
    server = here.simulate("--latency", "0.05")
    both = two_workers(here)
    run = here.submit(parallel=16)
    at_work(here, run, both)
    kill(whose(run))
    complete(here, run, both)
    asked_once(here, server, but=8 + 100)  # under way with the dead, or answered and not kept


def test_a_cancellation_reaches_helpers_within_two_seconds(here: World) -> None:
    here.simulate("--latency", "0.5")
    both = two_workers(here)
    run = here.submit(parallel=16)
    until(lambda: len(children_of(run)) > 1 and here.run(run).settled > 0, "two at work", step=both)
    pids = children_of(run)
    queue.cancel(here.context, run.id)
    _, alive = psutil.wait_procs([psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)], timeout=10)
    assert not alive
    until(lambda: here.ended(run), "end", step=both)
    assert here.run(run).status is Status.CANCELLED
    assert here.store.run(run.id).settled == len(outcomes(here, run))


def test_a_budget_holds_over_all_processes_and_what_is_scored_is_a_beginning(here: World) -> None:
    here.simulate("--latency", "0.05", "--tokens", "100")
    both = two_workers(here)
    run = here.submit(parallel=16, max_total_tokens=60_000)
    until(lambda: here.ended(run), "end", step=both)
    done = here.run(run)
    assert (done.status, done.error_slug) == (Status.FAILED, "resource-limit")
    positions = {row.position for row in here.store.latest(run.id)}
    assert 400 < len(positions) == done.settled < N
    assert not psutil.pid_exists(0) or not helpers_of(run)
