"""Memory and processors of jobs at work, and the disk: in the API, in the figures for Prometheus, on the queue page."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from proctor.store.queue.heartbeat import FORGOTTEN_S, Load, WorkerSign, beat, signs, tidy
from served import Server, serving


def test_a_sign_comes_back_as_it_was_given(tmp_path: Path) -> None:
    loads = {"a run": Load(93_000_000, 0.5), "another": Load(5, None)}
    beat(tmp_path, "worker box 1", WorkerSign("12 MB are free", loads))
    (found,) = signs(tmp_path)
    assert (found.waits_for, found.loads) == ("12 MB are free", loads)
    assert abs(found.at - time.time()) < 3600


def test_what_a_full_disk_left_half_written_still_tells_its_time(tmp_path: Path) -> None:
    beat(tmp_path, "worker", WorkerSign())
    (tmp_path / "workers" / "worker.json").write_text('{"waits')
    (found,) = signs(tmp_path)
    assert found.loads == {} and found.at > 0


def test_signs_of_workers_long_gone_are_removed_but_for_the_last(tmp_path: Path) -> None:
    for name in ("one", "two"):
        beat(tmp_path, name, WorkerSign())
    tidy(tmp_path, now=time.time() + FORGOTTEN_S + 60)
    assert len(signs(tmp_path)) == 1


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
