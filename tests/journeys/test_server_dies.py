"""The model's server is killed in the middle of a run and started again: the run waits for it and loses no item."""

from __future__ import annotations

import io
import os
import re
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from jobs_world import World, until, world
from opened import resume, start
from ports import free_port
from proctor.cli.progress import Plain
from proctor.engine.retry import Retry
from proctor.references import ExamRef
from proctor.service.context import Context
from proctor.service.runs import queue
from proctor.service.watch.job_states import state_of
from proctor.simulator import Simulated
from proctor.store.queue import runlog, waits
from proctor.store.queue.waits import Absence, Wait, Waits
from proctor.types import Cell, Limits, Model, Plan, Status
from served import serving

pytestmark = pytest.mark.slow

N = 60
FEW = Retry(most=2, first_s=0.02)  # used up long before the server is back


class Killed:
    """A watcher that kills the server once some items are done, and starts it again once the run waits for it."""

    def __init__(self, here: World, server: Simulated, *, again: bool = True) -> None:
        self.here, self.server, self.again = here, server, again
        self.killed = False
        self.waited: list[Waits] = []
        self.starting: list[threading.Thread] = []
        self.said = io.StringIO()
        self.plain = Plain(self.said)

    def __call__(self, run, p):
        if p.done >= 10 and not self.killed:
            os.kill(self.server.pid, signal.SIGKILL)
            self.killed = True
        if p.waits.absence:
            self.waited.append(p.waits)
            self.plain._last[run.id] = 0.0  # it need not be ten seconds for the test's sake
            self.plain.watch(run, p)
            if self.again and not self.starting:
                self.starting.append(threading.Thread(target=self._start))
                self.starting[0].start()

    def _start(self) -> None:
        self.here.simulate("--port", self.server.url.rpartition(":")[2])

    def counted(self) -> Counter:
        """How often the second server saw each item."""
        self.starting[0].join()
        return Counter(self.here.asked(self.server))


@pytest.fixture
def here(tmp_path: Path):
    with world(tmp_path, n=N) as made:
        yield made


def plan(here: World, server: Simulated, **limits: float) -> Plan:
    ref = ExamRef("file", str(here.file))
    return Plan((Cell(Model("ollama", "sim", server.url), ref, limits=Limits(parallel=4, **limits)),))


def test_a_run_whose_server_is_killed_goes_on_when_it_is_back(here):
    server = here.simulate("--latency", "0.05", "--port", str(free_port()))
    killed = Killed(here, server)
    ended = start(plan(here, server), here.settings, watch=killed, retry=FEW)
    (result,) = ended.evaluation.results
    assert ended.error is None and not result.run.partial
    assert sum(result.tally.outcomes.values()) == N and "error" not in result.tally.outcomes
    assert result.tally.retries <= 8, "a broken connection for each that was on its way, and no more"
    seen = killed.counted()
    assert max(seen.values()) == 1, "the server that came back was asked nothing twice"
    answered_before = N - sum(seen.values())
    assert answered_before >= 10 - 4
    assert "cannot connect (Connection refused)" in killed.waited[-1].absence.said
    assert "| waiting for the server, " in killed.said.getvalue()


def test_a_run_whose_server_does_not_come_back_says_how_long_it_waited_and_can_be_resumed(here):
    server = here.simulate("--latency", "0.05", "--port", str(free_port()))
    killed = Killed(here, server, again=False)
    ended = start(plan(here, server, wait_for_server_s=1.0), here.settings, watch=killed, retry=FEW)
    assert ended.error.slug == "error-budget"
    assert re.search(r"the server was waited for, \d+ s \(--wait-for-server\)", str(ended.error))
    here.simulate("--port", server.url.rpartition(":")[2])
    again = resume(ended.unfinished, here.settings)
    assert again.error is None and not again.evaluation.results[0].run.partial


@pytest.mark.slow
def test_a_job_keeps_its_lease_while_it_waits_and_the_dashboard_says_for_what(here):
    server = here.simulate("--latency", "0.1")
    worker = here.worker(lease_s=3.0)
    run = here.submit()

    def step():
        worker.step(time.time())

    until(lambda: here.run(run).settled >= 4, "some are settled", step=step)
    os.kill(server.pid, signal.SIGKILL)
    context = Context(here.settings, here.store)

    def waited_s():
        absence = state_of(context, run.id).waits.absence
        return absence.waited_s if absence else 0.0

    until(lambda: waited_s() > 3.5, "longer than its lease", step=step)
    assert here.run(run).status is Status.RUNNING
    with serving(here.home, "--no-worker", PROCTOR_DATABASE_URL=here.database_url) as site:
        for page in (f"/runs/{run.id}/live", "/"):
            said = site.ask("GET", page).body
            assert "waiting for the server, " in said and "Connection refused" in said, page
    here.simulate("--port", server.url.rpartition(":")[2])
    until(lambda: here.ended(run), "the job has ended", step=step)
    done = here.run(run)
    assert (done.status, done.settled, done.error) == (Status.COMPLETED, N, None)
    assert queue.job(here.context, run.id).tries == 1
    assert not runlog.waits_path(here.home, run.id).exists()


def test_what_is_waited_for_is_told_to_other_processes_as_long_as_it_is_fresh(tmp_path):
    said = Waits((Wait("rate-limited", 3, "slow down", 1.5),), Absence("gone", 10.0, 120.0), 1000.0)
    waits.tell(tmp_path, "r", said)
    assert waits.told(tmp_path, "r", now=1000.0) == said
    later = waits.told(tmp_path, "r", now=1002.0)
    assert (later.causes[0].next_s, later.absence.waited_s) == (0.0, 12.0)
    assert not waits.told(tmp_path, "r", now=1000.0 + waits.FRESH_S + 1), "its process was killed"
    waits.tell(tmp_path, "r", waits.NONE)
    assert not waits.told(tmp_path, "r", now=1000.0)
    runlog.waits_path(tmp_path, "r").write_bytes(b"{half")
    assert not waits.told(tmp_path, "r", now=1000.0)
