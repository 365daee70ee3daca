"""Memory, disk, tokens and money: a job that passes its limit fails and says which it was."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from jobs_world import World, children_of, until, world
from proctor.jobs.resources import free_bytes, used_by
from proctor.jobs.worker import Worker
from proctor.service.context import Context
from proctor.service.runs import queue
from proctor.service.watch import job_states
from proctor.types import Run, Status

pytestmark = [pytest.mark.slow, pytest.mark.promise("A-20")]  # whole runs in processes of their own


@pytest.fixture
def here(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


def failed_by_a_limit(here: World, run: Run, worker: Worker | None = None) -> Run:
    worker = worker or here.worker()
    until(lambda: here.ended(run), f"end: {here.said}", step=lambda: worker.step(time.time()))
    # What the worker ends is cancelled first, then called by its name.
    until(lambda: not worker.children, "its process has ended", step=lambda: worker.step(time.time()))
    done = here.run(run)
    assert (done.status, done.error_slug) == (Status.FAILED, "resource-limit")
    assert children_of(run) == []
    worker.step(time.time())
    assert here.run(run).status is Status.FAILED, "it is not tried again"
    return done


@pytest.mark.promise("G-33")
def test_too_much_memory(here: World) -> None:
    here.simulate("--latency", "0.5")
    here.set(PROCTOR_JOB_MEMORY_MB="20")
    done = failed_by_a_limit(here, here.submit())
    assert "MB of memory, and 20 MB are allowed" in (done.error or "")


@pytest.mark.promise("G-33")
def test_a_job_on_a_disk_without_room_waits_and_goes_on_when_there_is_room(here: World) -> None:
    here.simulate("--latency", "0.4")
    run = here.submit()
    worker = here.worker()
    enough = worker.settings
    until(lambda: here.run(run).settled >= 4, "some are settled", step=lambda: worker.step(time.time()))
    more = free_bytes(here.home) + 10**11
    worker.settings = replace(enough, least_disk_bytes=more)
    until(lambda: not worker.children, "its process has ended", step=lambda: worker.step(time.time()))
    waits = here.run(run)
    assert (waits.status, waits.error_slug, waits.finished_at) == (Status.PENDING, "disk-full", None)
    assert "MB must stay free" in (waits.error or "")
    assert str(here.home) not in (waits.error or "")
    assert queue.job(here.context, run.id).tries == 0
    context = Context(here.settings, here.store)
    assert job_states.state_of(context, run.id).step.startswith("waiting for room: ")
    until(lambda: queue.worker_waits_for(here.context), "said", step=lambda: worker.step(time.time()))
    for _ in range(20):
        worker.step(time.time())
    assert here.run(run).status is Status.PENDING, "it is not taken while there is no room"
    worker.settings = enough
    until(lambda: here.ended(run), "end", step=lambda: worker.step(time.time()))
    done = here.run(run)
    assert (done.status, done.settled, done.error) == (Status.COMPLETED, 40, None)
    assert sum("no run is taken until there is room" in line for line in here.said) == 1
    assert "there is room on the disk again: runs are taken" in here.said


@pytest.mark.promise("G-26")
def test_too_many_tokens_and_a_restart_has_them_afresh(here: World) -> None:
    here.simulate()
    run = here.submit(max_total_tokens=400)
    done = failed_by_a_limit(here, run)
    assert "the tokens allowed by --max-total-tokens (400 for this run) were used up" in (done.error or "")
    assert 0 < done.settled < 40
    before = done.settled
    queue.restart(here.context, run.id)
    assert failed_by_a_limit(here, run).settled > before


def test_too_much_money(here: World) -> None:
    here.simulate()
    (here.home / "prices.toml").write_text('["ollama/sim"]\ninput = 1000\noutput = 1000\n')
    done = failed_by_a_limit(here, here.submit(max_cost_usd=0.5))
    assert "$0.5 for this run" in (done.error or "")
    spent = here.store.tally(done.id).cost_usd
    assert spent is not None and 0.5 <= spent < 1.5, "what was under way is still paid and kept"


def test_a_budget_that_is_only_just_enough_is_no_failure(here: World) -> None:
    here.simulate()
    run = here.submit(max_total_tokens=1_000_000)
    worker = here.worker()
    until(lambda: here.ended(run), "end", step=lambda: worker.step(time.time()))
    tally = here.store.tally(run.id)
    used = 40 * ((tally.input_tokens_per_item or 0) + (tally.output_tokens_per_item or 0))
    exact = here.submit(max_total_tokens=round(used))
    until(lambda: here.ended(exact), "end", step=lambda: worker.step(time.time()))
    done = here.run(exact)
    assert (done.status, done.settled, done.error) == (Status.COMPLETED, 40, None)


def test_what_earlier_tries_spent_counts_too(here: World) -> None:
    """A process dies when half of the tokens are spent; the next has the other half."""
    here.simulate("--latency", "0.4")
    run = here.submit(max_total_tokens=2000)
    worker = here.worker()
    until(lambda: here.run(run).settled >= 12, "half", step=lambda: worker.step(time.time()))
    for child in worker.children.values():
        child.process.kill()
    done = failed_by_a_limit(here, run, worker)
    tally = here.store.tally(run.id)
    tokens = (tally.input_tokens_per_item or 0) + (tally.output_tokens_per_item or 0)
    assert queue.job(here.context, run.id).tries == 1, "the first settled items, so it is not counted"
    # Four were under way when it was used up; what a killed process had asked and not kept is not counted.
    assert 2000 <= done.settled * tokens < 2000 + 6 * tokens


def test_memory_is_that_of_the_whole_group(here: World) -> None:
    here.simulate("--latency", "5")
    here.submit()
    worker = here.worker()
    worker.step(time.time())
    (child,) = worker.children.values()
    until(lambda: used_by([child.group])[child.group].memory_bytes > 30_000_000, "it has grown")
    assert used_by([child.group, 999_999_999])[999_999_999].memory_bytes == 0
