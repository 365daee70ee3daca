"""One run and several processes: it comes to what one process comes to, whoever is killed on the way."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from jobs_world import World, children_of, kill, step, until, world
from proctor.jobs.worker import Worker
from proctor.service.runs import queue
from proctor.service.watch.job_states import state_of
from proctor.simulator import Simulated
from proctor.store.queue import shards
from proctor.types import Run, Status
from programs import proctor_json

pytestmark = pytest.mark.slow  # whole runs in processes of their own
N = 1200
CANCELLED_WITHIN_S = 60.0  # two on a quiet machine


@pytest.fixture
def here(tmp_path: Path, database_url: str) -> Iterator[World]:
    with world(tmp_path, database_url, n=N) as made:
        yield made


def two_workers(here: World, lease_s: float = 20.0) -> Callable[[], None]:
    """Two workers, which know of each other before there is a run; a step of both."""
    workers: list[Worker] = [here.worker(lease_s=lease_s), here.worker(lease_s=lease_s)]

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
    with here.store.writing() as connection:  # those of before are there for a while yet
        connection.exec_driver_sql("DELETE FROM worker")
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


def test_helper_and_owner_are_killed_and_nothing_is_lost_and_nothing_kept_is_asked_again(
    tmp_path: Path, postgres_url: str
) -> None:
    with world(tmp_path, postgres_url, n=N) as here:
        server = here.simulate("--latency", "0.05")
        both = two_workers(here, lease_s=6.0)
        run = here.submit(parallel=16)
        at_work(here, run, both)
        kill(helpers_of(run))
        settled = here.run(run).settled
        until(lambda: here.run(run).settled > settled + 50, "it goes on", step=both)
        kill(owner_of(run))
        complete(here, run, both)
        asked_once(here, server, but=2 * (8 + 100))  # under way with the dead, or answered and not kept


def test_a_budget_holds_over_all_processes_and_what_is_kept_is_mostly_a_beginning(tmp_path: Path) -> None:
    with world(tmp_path, n=N) as here:
        here.simulate("--latency", "0.05", "--tokens", "100")
        both = two_workers(here)
        run = here.submit(parallel=16, max_total_tokens=60_000)
        until(lambda: here.ended(run), "end", step=both)
        done = here.run(run)
        assert (done.status, done.error_slug) == (Status.FAILED, "resource-limit")
        positions = {row.position for row in here.store.latest(run.id)}
        assert 400 < len(positions) == done.settled < N
        begins = {*range(len(positions))}
        assert (
            len(begins & positions) >= len(positions) - 2 * 8 - 300
        )  # but for what came from the shards under way


def test_an_owner_that_was_too_slow_for_its_shards_goes_on_with_the_run(tmp_path: Path) -> None:
    with world(tmp_path, n=N) as here:
        here.set(PROCTOR_FIRST_RETRY="0.2s")
        here.simulate("--latency", "0.05")
        both = two_workers(here)
        run = here.submit(parallel=16)
        at_work(here, run, both)
        with here.store.writing() as connection:  # as if all leases had run out on a machine that stood still
            connection.exec_driver_sql(
                "UPDATE shard SET status = 'pending', owner = NULL WHERE status = 'running'"
            )
        complete(here, run, both)


def test_a_worker_that_comes_later_is_given_its_share_and_a_cancellation_reaches_all(tmp_path: Path) -> None:
    with world(tmp_path, n=4 * N) as here:
        server = here.simulate("--latency", "0.1")
        first = here.worker(lease_s=2.0)
        run = here.submit(parallel=8)
        until(lambda: here.run(run).settled > 50, "one is at work", step=lambda: step(first))
        assert shards.standing(here.store, run.id, now=0.0) is None
        second = here.worker(lease_s=2.0)

        def both() -> None:
            step(first)
            step(second)

        at_work(here, run, both)
        assert re.search(
            r" shards done, \d at work by worker .*, worker ", state_of(here.context, run.id).step
        )
        pids = children_of(run)
        queue.cancel(here.context, run.id)
        _, alive = psutil.wait_procs([psutil.Process(pid) for pid in pids], timeout=CANCELLED_WITHIN_S)
        assert not alive
        until(lambda: here.ended(run), "end", step=both)
        assert here.run(run).status is Status.CANCELLED
        asked = here.asked(server)
        assert max(asked.values()) == 1
        assert 0 <= sum(asked.values()) - here.run(run).settled <= 8 + 50  # under way, or not kept yet


REQUESTS = 1200


def requests_file(folder: Path) -> Path:
    path = folder / "requests.jsonl"
    with path.open("w") as file:
        for number in range(REQUESTS):
            body = {"model": "sim", "messages": [{"role": "user", "content": f"What is {number} + 1?"}]}
            line = {"custom_id": f"r{number}", "method": "POST", "url": "/v1/chat/completions", "body": body}
            file.write(json.dumps(line) + "\n")
    return path


def replies_in(path: Path) -> dict[str, str]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    found = {
        line["custom_id"]: line["response"]["body"]["choices"][0]["message"]["content"] for line in lines
    }
    assert len(found) == len(lines)  # each request once
    return found


def test_processes_of_one_command_end_with_it_and_write_one_file_with_each_line_once(tmp_path: Path) -> None:
    with world(tmp_path) as here:
        server = here.simulate("--latency", "0.05")
        here.set(OPENAI_BASE_URL=f"{server.url}/v1", OPENAI_API_KEY="none")
        words = ("batch", "run", str(requests_file(tmp_path)), "--model", "openai/sim", "--parallel", "16")
        words = (*words, "-o", str(tmp_path / "out.jsonl"), "--workers", "2")
        begun = here.program(*words)
        until(lambda: here.store.runs() and len(children_of(here.store.runs()[0])) == 1, "a helper is there")
        run = here.store.runs()[0]

        def shared() -> bool:
            standing = shards.standing(here.store, run.id, now=0.0)
            return standing is not None and len(standing.owners) > 1

        until(shared, "it has a shard")
        begun.send_signal(signal.SIGINT)
        begun.communicate()
        assert children_of(run) == []
        stopped = here.run(run)
        assert 0 < stopped.settled < REQUESTS
        assert len(replies_in(tmp_path / "out.jsonl")) == stopped.settled
        again = here.program(*words)
        again.communicate()
        assert again.returncode == 0 and here.run(run).settled == REQUESTS
        replies = replies_in(tmp_path / "out.jsonl")
        rows = here.store.latest(run.id)
        assert replies == {row.item_id: here.store.reply(run.id, row).text for row in rows}
        shown = proctor_json(here.home, "show", run.id, PROCTOR_DATABASE_URL=here.database_url)
        assert shown["runs"][0]["shards"] == {"of": 12, "done": 12, "at_work": 0, "owners": []}


def test_what_no_item_escapes_at_a_helper_ends_the_run(tmp_path: Path) -> None:
    with world(tmp_path, n=N) as here:
        here.simulate("--latency", "0.2")
        both = two_workers(here)
        run = here.submit(parallel=8)
        at_work(here, run, both)
        standing = shards.standing(here.store, run.id, now=0.0)
        assert standing is not None
        for owner in standing.owners:  # one of them is the run's own, of whom this is not believed
            shards.say_failed(here.store, run.id, "the key was taken back", "auth", owner=owner)
        until(lambda: here.ended(run), "end", step=both)
        done = here.run(run)
        assert (done.status, done.error_slug, done.error) == (Status.FAILED, "auth", "the key was taken back")
        until(lambda: children_of(run) == [], "its processes end", step=both)
        assert done.settled == len(outcomes(here, run)) < N
