"""Memory and processors of jobs at work, and the disk: in the API, in the figures for Prometheus, on the queue page."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from sqlalchemy import update

from proctor.store import Store
from proctor.store.core.fleet_tables import WORKER
from proctor.store.queue.workers import FORGOTTEN_S, Load, WorkerSign, beat, lately, signs, tidy
from served import Server, serving


def test_a_sign_comes_back_as_it_was_given(store: Store) -> None:
    loads = {"a run": Load(93_000_000, 0.5), "another": Load(5, None)}
    lacks = {"a third": "GEMINI_API_KEY"}
    given = WorkerSign(
        "worker box 1", "box", "/srv/proctor", "1.0", 10.0, 20.0, "12 MB are free", loads, lacks, ("x",)
    )
    beat(store, WorkerSign("worker box 1", at=5.0))
    beat(store, given)
    assert signs(store) == [given]


def test_what_another_version_says_of_a_worker_still_tells_its_time(store: Store) -> None:
    beat(store, WorkerSign("worker", at=7.0))
    with store.writing() as connection:
        connection.execute(update(WORKER).values(said='{"waits'))
    assert signs(store) == [WorkerSign("worker", at=7.0)]


def test_signs_of_workers_long_gone_are_removed_but_for_the_last(store: Store) -> None:
    for place, name in enumerate(("one", "two")):
        beat(store, WorkerSign(name, at=100.0 + place))
    tidy(store, now=101.0 + FORGOTTEN_S + 60)
    assert [sign.name for sign in signs(store)] == ["two"]


def test_a_worker_that_ended_or_is_silent_is_not_there(store: Store) -> None:
    for sign in (
        WorkerSign("here", at=100.0),
        WorkerSign("ended", at=100.0, ended=True),
        WorkerSign("silent", at=60.0),
    ):
        beat(store, sign)
    assert [sign.name for sign in lately(store, now=101.0)] == ["here"]


def at_work(server: Server, job: str) -> dict[str, float]:
    """The job's load, once its processors have been measured over a second."""
    while True:
        stats = server.get("/api/v1/jobs/queue/stats")
        found = next((each for each in stats["at_work"] if each["job_id"] == job), None)
        if found and found["cores"]:
            return {**found, **stats["disk"]}
        status = server.get(f"/api/v1/jobs/status/{job}")["status"]
        assert status in ("pending", "running"), status
        time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.promise("G-33")
def test_a_job_at_work_shows_its_memory_its_processors_and_the_disk(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        job = server.submit("simulator", "sim", repeats=100)
        load = at_work(server, job)
        figures = server.get("/metrics")
        page = server.get("/system")
        server.post(f"/api/v1/jobs/cancel/{job}")
        server.ended(job)
        after = server.get("/metrics")
    assert load["memory_bytes"] > 30_000_000 and 0 < load["cores"] < 64
    assert load["free_bytes"] > load["least_bytes"] == 500_000_000
    for name in ("job_memory_bytes", "job_cpu_cores"):
        assert f'proctor_{name}{{job_id="{job}"}}' in figures and job not in after
    assert "proctor_disk_free_bytes" in figures and "proctor_disk_least_bytes 5e+08" in figures
    assert " MB of 2.1 GB" in page and " cores" in page and "500 MB must stay so" in page
