"""A worker with real processes: a run completes, fails and is tried again."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import update

from jobs_world import World, broken_server, kill, step, until, world
from proctor.jobs.worker import Worker
from proctor.references import ExamRef
from proctor.service.context import Context
from proctor.service.runs import queue
from proctor.service.watch import job_states
from proctor.settings import read_settings
from proctor.store.core.tables import PULSE, RUN
from proctor.store.queue import taking
from proctor.store.queue.endings import Verdict, end
from proctor.store.write import throughput
from proctor.store.write.throughput import Progress
from proctor.types import Cell, Model, Plan, Run, Status

pytestmark = pytest.mark.slow  # whole runs in processes of their own
SLOW = ("--latency", "30")


@pytest.fixture
def here(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


def work_until_ended(here: World, run: Run, worker: Worker | None = None) -> Run:
    worker = worker or here.worker()
    until(lambda: here.ended(run), f"end of {run.id}: {here.said}", step=lambda: step(worker))
    until(lambda: not worker.children, "the process has ended", step=lambda: step(worker))
    return here.run(run)


@pytest.mark.promise("A-05")
def test_a_job_completes_and_is_a_run_like_any_other(tmp_path: Path, database_url: str) -> None:
    with world(tmp_path, database_url) as here:
        here.simulate()
        run = here.submit()
        done = work_until_ended(here, run)
        assert (done.status, done.planned, done.settled, done.partial) == (Status.COMPLETED, 40, 40, False)
        assert done.manifest.facts.item_set_sha256 and done.source_title == "sums.csv"
        assert here.store.scores(run.id)[0].estimate.value is not None
        assert "completed, 40 of 40 items settled" in here.log(run)
        assert (here.home / "logs" / f"{run.id}.log").stat().st_mode & 0o077 == 0
        assert here.said[-1] == f"run {run.id}: completed"


def test_a_child_that_was_killed_is_replaced_and_nothing_committed_is_asked_again(here: World) -> None:
    server = here.simulate("--latency", "0.4")
    run = here.submit()
    worker = here.worker()
    until(lambda: here.run(run).settled >= 8, "some are settled", step=lambda: step(worker))
    kill([child.process.pid for child in worker.children.values()])
    until(lambda: not worker.children, "the worker sees it", step=lambda: step(worker))
    back = here.run(run)
    assert (back.status, back.error_slug) == (Status.PENDING, "worker-died")
    assert "signal SIGKILL" in (back.error or "")
    said = "UTC, try 1 of 3 because this one settled items: the process that did the work ended with signal SIGKILL"
    assert said in here.log(run)
    step_of = job_states.state_of(Context(here.settings, here.store), run.id).step
    assert re.match(r"to be tried again at \d\d:\d\d:\d\d UTC, try 1 of 3: the process", step_of)
    kept = {item for item, _ in here.store.settled(run.id)}
    done = work_until_ended(here, run, worker)
    assert re.search(r"try 1 of 3, \d+ of 40 items settled before", here.log(run).partition("SIGKILL")[2])
    assert (done.status, done.settled, done.error) == (Status.COMPLETED, 40, None)
    asked = here.asked(server)
    assert {item: asked[item] for item in kept} == dict.fromkeys(kept, 1)
    assert len(list(here.store.latest(run.id))) == 40


@pytest.mark.promise("A-28")
def test_a_run_that_kills_its_process_fails_after_three_tries_and_says_where_the_log_is(here: World) -> None:
    here.simulate()
    run = here.submit()
    here.set(PROCTOR_DATA="nonsense")  # the child cannot even read its settings; the worker could
    worker = here.worker_with(PROCTOR_DATA="imported")
    done = work_until_ended(here, run, worker)
    assert (done.status, done.error_slug) == (Status.FAILED, "worker-died")
    assert done.error is not None
    assert "3 tries ended without a result" in done.error and "exit code 2" in done.error
    assert f"logs/{run.id}.log" in done.error
    assert here.log(run).count("PROCTOR_DATA=nonsense") == 3


@pytest.mark.promise("G-25")
def test_a_failure_that_may_pass_is_tried_again_later_and_then_succeeds(here: World) -> None:
    run = here.submit()
    with broken_server() as address:
        here.set(OLLAMA_HOST=address)
        worker = here.worker()
        until(lambda: here.run(run).error is not None, "the first failure", step=lambda: step(worker))
    waits = here.run(run)
    assert (waits.status, waits.error_slug, waits.finished_at) == (Status.PENDING, "server-error", None)
    until(lambda: "UTC, try 2 of 3: " in here.log(run), "the log says so")
    assert here.log(run).count(waits.error or "-") == 1, "once"
    here.simulate()
    worker.environ = here.environ
    done = work_until_ended(here, run, worker)
    assert (done.status, done.error, done.settled) == (Status.COMPLETED, None, 40)
    assert queue.job(here.context, run.id).tries >= 2


def test_a_failure_that_does_not_pass_is_told_as_it_was_and_comes_later_each_time(here: World) -> None:
    run = here.submit()
    waits: dict[int, tuple[float, float]] = {}  # the least and the most that it can have been put off by

    looked = [time.time(), time.time()]

    def look() -> None:
        looked.append(time.time())
        step(worker)
        job = queue.job(here.context, run.id)
        if job.run.status is Status.PENDING and job.tries:
            # It was put off after the look before the last one, and before this one was told.
            waits.setdefault(job.tries, (job.run_after - time.time(), job.run_after - looked[-3]))

    with broken_server() as address:
        here.set(OLLAMA_HOST=address)
        worker = here.worker()
        until(lambda: here.ended(run), "end", step=look)
    done = here.run(run)
    assert (done.status, done.error_slug) == (Status.FAILED, "server-error")
    assert "out of order" in (done.error or "")
    assert queue.job(here.context, run.id).tries == 3
    for tries, wait_s in ((1, 0.2), (2, 0.4)):
        assert waits[tries][0] <= wait_s <= waits[tries][1]


def test_the_pace_of_a_job_that_goes_on_is_of_its_last_try_alone(here: World) -> None:
    run = here.submit()
    taken = taking.take_next(here.store, owner="me", now=time.time(), lease_s=60.0, most_running=3)
    assert taken is not None and taken.id == run.id
    context = Context(here.settings, here.store)
    assert job_states.state_of(context, run.id).items_per_s is None
    beat = Progress(time.time(), 30, 4, 0.5, 10.0, 0, 0)
    throughput.add(here.store, run.id, replace(beat, at=beat.at - 600, items_per_s=9.0))
    assert job_states.state_of(context, run.id).items_per_s is None, "the process of that try is gone"
    throughput.add(here.store, run.id, beat)
    assert job_states.state_of(context, run.id).items_per_s == 0.5
    with here.store.writing() as connection:
        connection.execute(update(RUN).values(started_at=time.time() - 7200.0))
        connection.execute(update(PULSE).where(PULSE.c.at == beat.at).values(at=beat.at - 36.0))
    assert job_states.state_of(context, run.id).items_per_s, "after two hours it is told every 36 s"


def test_a_server_that_is_away_when_a_job_goes_on_is_waited_for(here: World) -> None:
    """The address was right before: a server that starts again is no wrong address, and the night is not lost."""
    server = here.simulate("--latency", "0.4")
    run = here.submit()
    worker = here.worker()
    until(lambda: here.run(run).settled >= 8, "some are settled", step=lambda: step(worker))
    here.set(OLLAMA_HOST="http://127.0.0.1:9")
    kill([child.process.pid for child in worker.children.values()])
    until(
        lambda: here.run(run).error_slug == "endpoint-not-found",
        "the second try finds nobody",
        step=lambda: step(worker),
    )
    waits = here.run(run)
    assert (waits.status, waits.finished_at) == (Status.PENDING, None)
    here.set(OLLAMA_HOST=server.url)
    done = work_until_ended(here, run, worker)
    assert (done.status, done.settled, done.error) == (Status.COMPLETED, 40, None)


@pytest.mark.parametrize("schedule_id", [None, 7])
def test_a_new_job_at_an_address_where_nobody_is_fails_at_once_unless_a_schedule_asks(
    here: World, schedule_id: int | None
) -> None:
    here.set(OLLAMA_HOST="http://127.0.0.1:9")
    cell = Cell(Model("ollama", "sim"), ExamRef("file", str(here.file)))
    ticket = queue.Ticket("ann", schedule_id=schedule_id)
    run = queue.submit(here.context, Plan((cell,)), ticket)
    done = work_until_ended(here, run)
    assert (done.status, done.error_slug) == (Status.FAILED, "endpoint-not-found")
    assert queue.job(here.context, run.id).tries == (1 if schedule_id is None else 3)


def test_a_run_is_taken_again_while_the_process_of_its_last_try_is_still_ending(here: World) -> None:
    here.simulate()
    run = here.submit()
    worker = here.worker()
    usual = worker.command
    worker.command = lambda _run, _owner, _lease: ["sleep", "600"]
    step(worker)
    (lingering,) = worker.children.values()
    back = Verdict(Status.PENDING, error="it broke", error_slug="network")
    assert end(here.store, run.id, back, owner=lingering.owner, now=time.time())
    worker.command = usual
    until(lambda: here.ended(run), "end", step=lambda: step(worker))
    assert lingering in worker.children.values()
    lingering.process.terminate()
    until(lambda: not worker.children, "both have ended", step=lambda: step(worker))
    done = here.run(run)
    assert (done.status, done.settled, done.error) == (Status.COMPLETED, 40, None)


@pytest.mark.promise("A-19")
def test_a_failure_that_cannot_pass_is_not_tried_again(here: World) -> None:
    run = here.submit("gemini/gemini-2.0-flash")
    done = work_until_ended(here, run)
    assert (done.status, done.error_slug, queue.job(here.context, run.id).tries) == (Status.FAILED, "auth", 1)
    assert "GOOGLE_API_KEY" in (done.error or "")
    here.simulate()
    unknown = here.submit("ollama/nobody")
    assert work_until_ended(here, unknown).error_slug == "model-not-found"


def test_prompts_that_are_all_too_long_are_not_tried_again(here: World) -> None:
    server = here.simulate("--context", "5")
    here.set(OPENAI_BASE_URL=f"{server.url}/v1", OPENAI_API_KEY="EMPTY")
    run = here.submit("openai/sim")
    done = work_until_ended(here, run)
    assert (done.status, done.error_slug) == (Status.FAILED, "error-budget"), (
        "40 items, of which 20 were asked"
    )
    assert queue.job(here.context, run.id).tries == 1 and done.settled == 0


@pytest.mark.promise("A-18")
def test_rows_that_cannot_be_read_fail_the_job_in_words(here: World) -> None:
    here.simulate()
    run = here.submit()
    here.file.write_text("question,A,B,answer\nWhat?,1,2,Z\n")
    done = work_until_ended(here, run)
    assert (done.status, done.error_slug) == (Status.FAILED, "data")
    assert "sums.csv" in (done.error or "")


@pytest.mark.promise("A-23")
def test_a_run_that_takes_too_long_fails_and_keeps_what_was_asked(here: World) -> None:
    here.simulate("--latency", "0.4")
    here.set(PROCTOR_JOB_TIMEOUT="2s")
    run = here.submit(timeout_s=3600.0)
    assert run.cell.limits.timeout_s == 2.0, "the server's limit is the lower one"
    done = work_until_ended(here, run)
    assert (done.status, done.error_slug) == (Status.FAILED, "run-timeout")
    assert 0 < done.settled < 40
    assert here.settings.job_timeout_s == 2.0
    assert read_settings({}).job_timeout_s == 3 * 3600


def test_a_worker_that_cannot_start_processes_says_so_and_goes_on(here: World) -> None:
    run = here.submit()
    worker = here.worker()
    usual = worker.command
    worker.command = lambda _run, _owner, _lease: [str(here.home / "nothing")]
    for _ in range(5):  # it is no fault of the run's, however often
        until(lambda: here.run(run).error, "its process could not be started", step=lambda: step(worker))
        assert "could not be started: No such file" in (here.run(run).error or "")
        assert (here.run(run).error_slug, queue.job(here.context, run.id).tries) == ("worker-died", 0)
        until(lambda: queue.job(here.context, run.id).run_after <= time.time(), "its next try")
    here.simulate()
    worker.environ, worker.command = here.environ, usual
    done = work_until_ended(here, run, worker)
    assert (done.status, done.settled, done.error) == (Status.COMPLETED, 40, None)


def test_what_a_process_leaves_behind_ends_with_it(here: World) -> None:
    run = here.submit()
    worker = here.worker()
    script = "sleep 600 & echo $! > left.pid; exit 1"
    worker.command = lambda _run, _owner, _lease: ["bash", "-c", f"cd {here.home}; {script}"]
    until(lambda: here.run(run).error is not None, "its process has ended", step=lambda: step(worker))
    left = int((here.home / "left.pid").read_text())

    def gone() -> bool:
        try:
            os.kill(left, 0)
        except ProcessLookupError:
            return True
        return False

    until(gone, "the process that it left behind has ended")
