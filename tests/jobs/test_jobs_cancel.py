"""Jobs are cancelled at every stage of their work."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs_world import World, broken_server, children_of, step, until, world
from proctor import jobs
from proctor.jobs.worker import Worker
from proctor.references import ExamRef
from proctor.service.runs import lease, queue
from proctor.simulator import spawn
from proctor.store.core.tables import ATTEMPT
from proctor.types import Cell, Model, Run, Status

pytestmark = pytest.mark.slow  # whole runs in processes of their own
SLOW = ("--latency", "30")


@pytest.fixture
def here(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


def cancelled(here: World, run: Run, worker: Worker) -> Run:
    queue.cancel(here.context, run.id)
    until(lambda: here.ended(run), "cancellation", step=lambda: step(worker))
    until(lambda: not worker.children, "the process has ended", step=lambda: step(worker))
    assert children_of(run) == []
    found = here.run(run)
    assert (found.status, found.stopped, found.error) == (Status.CANCELLED, "cancelled", None)
    return found


def test_a_machine_with_time_to_spare_cancels_within_two_seconds() -> None:
    """From the next look to the kill of a process that does not listen; a busy machine may take longer."""
    for part in (jobs.worker, lease):
        assert part.LOOK_EVERY_S + part.GRACE_S < 2.0


@pytest.mark.promise("A-08")
def test_a_waiting_job_is_cancelled_before_anybody_takes_it(here: World) -> None:
    run = here.submit()
    worker = here.worker()
    assert queue.cancel(here.context, run.id)
    step(worker)
    assert (here.run(run).status, worker.children) == (Status.CANCELLED, {})


def test_a_job_is_cancelled_while_its_process_is_only_starting(here: World) -> None:
    here.simulate(*SLOW)
    run = here.submit()
    worker = here.worker()
    step(worker)
    assert cancelled(here, run, worker).settled == 0


@pytest.mark.promise("A-09")
def test_a_job_is_cancelled_while_the_server_is_slow_and_keeps_what_was_asked(here: World) -> None:
    here.simulate("--latency", "0.5", "--sigma", "1.5")
    run = here.submit()
    worker = here.worker()
    until(lambda: here.run(run).settled > 0, "one is settled", step=lambda: step(worker))
    found = cancelled(here, run, worker)
    assert 0 < found.settled < 40
    with here.store.reading() as connection:
        assert len(connection.execute(ATTEMPT.select()).all()) == found.settled
    again = queue.restart(here.context, run.id)
    assert (again.status, again.settled) == (Status.PENDING, found.settled)


@contextlib.contextmanager
def silent_server() -> Iterator[tuple[str, threading.Event]]:
    """Takes connections and never answers; the event tells of the first."""
    met = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        held: list[socket.socket] = []

        def take() -> None:
            with contextlib.suppress(OSError):
                while True:
                    held.append(listening.accept()[0])
                    met.set()

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", met
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()
        for connection in held:
            connection.close()


def test_a_job_is_cancelled_while_its_rows_are_being_fetched(here: World) -> None:
    with silent_server() as (address, met):
        here.set(HF_ENDPOINT=address)
        cell = Cell(Model("ollama", "sim"), ExamRef("suite", "glue", tasks=("cola",), limit=5, rows="hub"))
        run = here.submit_cell(cell)
        worker = here.worker()
        until(met.is_set, "it asks the hub", step=lambda: step(worker))
        cancelled(here, run, worker)


def test_a_job_is_cancelled_while_its_model_is_being_looked_for(here: World) -> None:
    with silent_server() as (address, met):
        here.set(OLLAMA_HOST=address)
        run = here.submit()
        worker = here.worker()
        until(met.is_set, "it asks for the models", step=lambda: step(worker))
        cancelled(here, run, worker)


def test_a_job_is_cancelled_while_its_requests_are_being_sent_again(here: World) -> None:
    with spawn(["--error-rate", "1"], {}) as server:
        here.set(OPENAI_BASE_URL=f"{server.url}/v1")
        run = here.submit("openai/sim")
        worker = here.worker()
        until(
            lambda: sum(here.asked(server).values()) > 4,
            "requests are sent again",
            step=lambda: step(worker),
        )
        cancelled(here, run, worker)


def test_a_job_is_cancelled_while_it_waits_for_its_next_try(here: World) -> None:
    here.set(PROCTOR_FIRST_RETRY="1h")
    run = here.submit()
    with broken_server() as address:
        here.set(OLLAMA_HOST=address)
        worker = here.worker()
        until(lambda: here.run(run).error is not None, "the first failure", step=lambda: step(worker))
    assert here.run(run).status is Status.PENDING
    assert queue.cancel(here.context, run.id)
    assert (here.run(run).status, here.run(run).error) == (Status.CANCELLED, None)


def test_a_process_that_does_not_listen_is_killed(here: World) -> None:
    here.simulate(*SLOW)
    run = here.submit()
    worker = here.worker()
    until(lambda: "begins" in here.log(run), "the process is at work", step=lambda: step(worker))
    (child,) = worker.children.values()
    os.kill(child.process.pid, signal.SIGSTOP)
    cancelled(here, run, worker)
    assert child.process.returncode == -signal.SIGKILL
