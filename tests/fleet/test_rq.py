"""Runs that go through RQ on a real Valkey: the database is the truth, and Redis may be lost at any moment."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from redis import Redis
from rq import Queue, Worker
from rq.job import Job
from rq.serializers import JSONSerializer
from valkeys import Valkey

from jobs_world import World, children_of, kill, until, world
from proctor.jobs.rq_notices import Notices, RunNotice
from proctor.jobs.rq_sweep import LOCK, TIDIED, Sweeper
from proctor.service.runs import queue
from proctor.store.queue import endings
from proctor.store.queue.endings import Verdict
from proctor.types import Run, Status
from programs import proctor
from served import serving

pytestmark = pytest.mark.slow

NAMES = ("high", "normal", "low")


@pytest.fixture
def here(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


@pytest.fixture
def redis(valkey: Valkey) -> Iterator[Redis]:
    with valkey.client() as client:
        yield client


def sweep(here: World, redis: Redis, *, later_s: float = 0.0, sweeper: Sweeper | None = None) -> None:
    """One whole sweep, as it will be so many seconds from now."""
    redis.delete(LOCK, TIDIED)
    assert (sweeper or Sweeper(here.store, redis, 5.0)).sweep(time.time() + later_s)


def queued(redis: Redis, name: str = "high") -> list[str]:
    return Queue(name, connection=redis, serializer=JSONSerializer).get_job_ids()


def taken(here: World, run: Run) -> Run:
    found = here.store.run(run.id)
    assert found.status is Status.RUNNING
    return found


def rq_info(url: str) -> str:
    words = [str(Path(sys.executable).with_name("rq")), "info", "--url", url]
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout


# The sweeper --------------------------------------------------------------------------------------


def test_each_run_that_waits_has_one_notice_in_the_queue_of_its_priority(here: World, redis: Redis) -> None:
    runs = [here.submit() for _ in range(3)]
    sweeper = Sweeper(here.store, redis, 5.0)
    for _ in range(3):
        sweep(here, redis, sweeper=sweeper)
    assert queued(redis) == [run.id for run in runs]
    found = Job.fetch(runs[0].id, connection=redis, serializer=JSONSerializer)
    assert (found.args, found.kwargs, found.timeout) == ([runs[0].id], {}, -1), "an id, and nothing else"
    assert not sweeper.sweep(time.time()), "one sweeps at a time, and not at once again"


def test_what_redis_has_lost_is_put_back_and_what_ended_is_taken_out(here: World, redis: Redis) -> None:
    first, second = here.submit(), here.submit()
    sweep(here, redis)
    redis.flushall()
    sweep(here, redis)
    assert queued(redis) == [first.id, second.id]
    queue.cancel(here.context, first.id)
    sweep(here, redis)
    assert queued(redis) == [second.id]
    assert not redis.exists(Job.key_for(first.id))


def test_a_run_whose_lease_is_over_gets_a_notice_and_one_at_work_none(here: World, redis: Redis) -> None:
    run = here.submit()
    worker = here.worker(lease_s=30.0)
    worker.command = lambda *_: ["sleep", "60"]
    worker.step(time.time())
    taken(here, run)
    sweep(here, redis)
    assert queued(redis) == []
    sweep(here, redis, later_s=31.0)
    assert queued(redis) == [run.id]


def test_a_notice_that_a_killed_worker_took_with_it_is_put_back(here: World, redis: Redis) -> None:
    run = here.submit()
    sweeper = Sweeper(here.store, redis, 5.0)
    sweep(here, redis, sweeper=sweeper)
    redis.delete("rq:queue:high")  # popped, and its worker was killed at once
    sweep(here, redis, sweeper=sweeper)
    assert queued(redis) == [], "it may be on its way to being at work"
    sweep(here, redis, later_s=3.0, sweeper=sweeper)
    assert queued(redis) == [run.id]
    redis.delete("rq:queue:high")
    job = Job.fetch(run.id, connection=redis, serializer=JSONSerializer)
    job.set_status("started")
    job.heartbeat(job.enqueued_at, 60)
    sweep(here, redis, sweeper=sweeper)
    assert queued(redis) == [], "its worker was heard just now"
    sweep(here, redis, later_s=6.0, sweeper=sweeper)
    assert queued(redis) == [run.id]


def test_only_runs_that_failed_for_good_stay_among_the_failed_of_rq(here: World, redis: Redis) -> None:
    good, bad = here.submit(), here.submit()
    worker = here.worker()
    worker.command = lambda *_: ["sleep", "60"]
    worker.step(time.time())
    verdict = Verdict(Status.FAILED, error="the server is gone", error_slug="server-error")
    (owner,) = [child.owner for child in worker.children.values() if child.run.id == bad.id]
    assert endings.end(here.store, bad.id, verdict, owner=owner, now=time.time())
    for run in (good, bad):
        Notices(redis).put(RunNotice(run.id, "high"))
        job = Job.fetch(run.id, connection=redis, serializer=JSONSerializer)
        Queue("high", connection=redis, serializer=JSONSerializer).remove(run.id)
        job.set_status("failed")
        job.failed_job_registry.add(job, ttl=60, exc_string="AbandonedJobError")
    sweep(here, redis)
    assert Notices(redis).failed() == {bad.id}


# Whole runs ---------------------------------------------------------------------------------------


def rq_workers(process: subprocess.Popen[str]) -> list[psutil.Process]:
    with contextlib.suppress(psutil.NoSuchProcess):
        return [
            each for each in psutil.Process(process.pid).children() if "rq-worker" in (each.cmdline() or [])
        ]
    return []


def ready(here: World, redis: Redis, count: int = 3) -> None:
    until(lambda: Worker.count(connection=redis) >= count, "RQ workers say that they are there")


@pytest.mark.slow
@pytest.mark.promise("A-28")
def test_rq_shows_a_run_that_failed_with_its_error_and_where_its_log_lies(
    here: World, valkey: Valkey, redis: Redis
) -> None:
    server = here.simulate("--key", "right")
    here.set(PROCTOR_REDIS_URL=valkey.url, OPENAI_BASE_URL=f"{server.url}/v1", OPENAI_API_KEY="wrong")
    process = here.program("worker")
    run = here.submit("openai/sim")
    until(lambda: here.ended(run), "end")
    failed = here.run(run)
    assert failed.status is Status.FAILED and failed.error
    until(lambda: Notices(redis).failed() == {run.id}, "RQ knows it")
    shown = Job.fetch(run.id, connection=redis, serializer=JSONSerializer).latest_result()
    assert shown is not None and shown.exc_string is not None
    assert failed.error in shown.exc_string and f"logs/{run.id}.log in PROCTOR_HOME" in shown.exc_string
    said = rq_info(valkey.url)
    assert "1 failed" in said and "3 workers" in said and "high" in said
    process.send_signal(signal.SIGTERM)
    out, told = process.communicate(timeout=60)
    assert (out, process.returncode) == ("", 0)
    assert "exception raised while executing (proctor.app.rq.look_at)" in told and failed.error in told
    assert rq_info(valkey.url).count("0 workers") == 1


@pytest.mark.slow
def test_runs_go_on_when_valkey_is_killed_and_when_rq_workers_are_and_nothing_is_asked_twice(
    here: World, own_valkey: Valkey
) -> None:
    server = here.simulate("--latency", "0.15")
    here.set(PROCTOR_REDIS_URL=own_valkey.url, PROCTOR_MOST_RUNNING="2")
    process = here.program("worker", "--lease", "3")
    with own_valkey.client() as redis:
        ready(here, redis, 2)
    first = here.submit(parallel=1)
    until(lambda: here.run(first).settled >= 3, "the first is at work")
    kill([each.pid for each in rq_workers(process)])  # its work horse goes on
    own_valkey.kill()
    second = here.submit()  # taken from the database
    until(lambda: here.ended(second), "the second")
    assert not here.ended(first)
    own_valkey.start()
    with own_valkey.client() as redis:
        ready(here, redis, 1)
        third = here.submit()
        until(lambda: Job.exists(third.id, connection=redis), "Redis is back, and has the third's id")
    until(lambda: here.ended(first) and here.ended(third), "all end")
    assert [here.run(run).status for run in (first, second, third)] == [Status.COMPLETED] * 3
    assert [here.run(run).settled for run in (first, second, third)] == [40] * 3
    assert set(here.asked(server).values()) == {3}, "once in each run"
    process.send_signal(signal.SIGTERM)
    told = process.communicate(timeout=60)[1]
    assert told.count("is away (") == 1 and told.count("is back") == 1


@pytest.mark.slow
def test_a_worker_that_is_ended_puts_its_run_back_and_one_whose_processes_are_all_killed_lets_its_lease_run_out(
    here: World, valkey: Valkey, redis: Redis
) -> None:
    server = here.simulate("--latency", "0.1")
    here.set(PROCTOR_REDIS_URL=valkey.url, PROCTOR_MOST_RUNNING="1")
    run = here.submit(parallel=1)
    process = here.program("worker", "--lease", "2")
    until(lambda: here.run(run).settled >= 3, "it is at work")
    process.send_signal(signal.SIGINT)
    told = process.communicate(timeout=60)[1]
    assert "the next one goes on with it" in told
    back = here.run(run)
    assert (back.status, queue.job(here.context, run.id).tries) == (Status.PENDING, 0)
    again = here.program("worker", "--lease", "2")
    until(lambda: here.run(run).settled > back.settled, "the next worker goes on with it")
    family = [*psutil.Process(again.pid).children(recursive=True), psutil.Process(again.pid)]
    kill([*(each.pid for each in family), *children_of(run)])
    here.program("worker", "--lease", "2")
    until(lambda: here.ended(run), "it is taken up when its lease is over")
    assert (here.run(run).status, here.run(run).settled) == (Status.COMPLETED, 40)
    assert max(here.asked(server).values()) <= 3


def test_who_waits_is_told_that_redis_is_away_and_readiness_tells_it_too(
    here: World, own_valkey: Valkey
) -> None:
    run = here.submit()
    with serving(here.home, "--no-worker", PROCTOR_REDIS_URL=own_valkey.url) as server:
        assert server.get("/readyz")["redis"] == "ok"
        with own_valkey.client() as redis:
            until(lambda: queued(redis) == [run.id], "the server sweeps too")
        own_valkey.kill()
        until(lambda: server.get("/readyz")["redis"] != "ok", "it is seen")
        away = server.get("/readyz")
        assert away["status"] == "ok" and "does not answer: Error 111" in away["redis"]
        assert "does not answer" in server.get("/api/v1/jobs/queue/stats")["redis_away"]
        assert "does not answer" in server.get("/system")
        told = proctor(here.home, "--server", server.url, "status", run.id).stdout
        assert "waiting for a worker; Redis at 127.0.0.1:" in told
