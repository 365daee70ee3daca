"""Whoever watches the same run or list shares one look at it, hears what he may, and leaves nothing behind."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import update
from watched import Listener, Served, served, until

from proctor.references import ExamRef
from proctor.service.admin import access, sessions
from proctor.service.context import Context
from proctor.service.runs import queue
from proctor.service.runs.queue import Ticket
from proctor.settings import read_settings
from proctor.store.core.tables import RUN
from proctor.types import Cell, Model, Plan, Run, Status

WATCHERS = 50
DROPPED = 1000
ROWS = ExamRef("suite", "glue", rows="sample", limit=2)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Served]:
    with served(read_settings({"PROCTOR_HOME": str(tmp_path)})) as found:
        yield found


@pytest.fixture
def walled(tmp_path: Path) -> Iterator[Served]:
    with served(read_settings({"PROCTOR_HOME": str(tmp_path), "PROCTOR_AUTH": "keys"})) as found:
        yield found


def at_work(context: Context, project: int = 1) -> Run:
    """A job that a process has taken and begun to ask."""
    run = queue.submit(context, Plan((Cell(Model("simulator", "sim"), ROWS),)), Ticket("ann", project))
    context.store.claim(run.id, owner="a worker", now=1.0, lease_s=1e10)
    settle(context, run, 0)
    return run


def settle(context: Context, run: Run, settled: int) -> None:
    with context.store.writing() as connection:
        connection.execute(update(RUN).where(RUN.c.id == run.id).values(planned=100, settled=settled))


def end(context: Context, run: Run) -> None:
    context.store.finish(run.id, Status.CANCELLED, owner="a worker", now=2.0, elapsed_s=1.0)


def all_heard(listeners: list[Listener], name: str, times: int) -> None:
    until(lambda: all(each.count(name) >= times for each in listeners))


def test_fifty_watchers_of_a_run_cause_the_looks_of_one(site: Served) -> None:
    run = at_work(site.context)
    listeners = [site.stream(f"/runs/{run.id}/events") for _ in range(WATCHERS)]
    assert {each.status for each in listeners} == {200}
    until(lambda: site.hub.watchers == WATCHERS)
    assert len(site.hub) == 1
    site.statements.clear()
    before = site.hub.looks
    for settled in range(1, 4):
        settle(site.context, run, settled)
        all_heard(listeners, "changed", settled)
    looks = site.hub.looks - before
    assert site.looks() in (looks, looks + 1)  # one statement a look; the last may be under way
    assert looks < WATCHERS  # by far: each of them alone would have looked at least as often as it heard
    settled_by = [each.count("changed") for each in listeners]
    assert settled_by == [3] * WATCHERS
    end(site.context, run)
    all_heard(listeners, "end", 1)
    until(lambda: len(site.hub) == 0)


def test_lists_are_looked_at_once_too_and_say_that_a_run_has_ended(site: Served) -> None:
    run = at_work(site.context)
    listeners = [site.stream("/active/events") for _ in range(WATCHERS)]
    until(lambda: site.hub.watchers == WATCHERS)
    assert len(site.hub) == 1
    settle(site.context, run, 1)
    all_heard(listeners, "changed", 1)
    assert {each.count("ended") for each in listeners} == {0}
    end(site.context, run)
    all_heard(listeners, "ended", 1)


def test_nobody_hears_of_a_project_that_he_does_not_reach(walled: Served) -> None:
    context = walled.context
    names = ("anns", "bobs")
    projects = [access.create_project(context, name, by="boss").id for name in names]
    secrets = [
        access.create_key(context, user, "key", ["read", "run"], projects=[project], by="boss")[1]
        for user, project in zip(("ann", "bob"), projects, strict=True)
    ]
    cookies = [f"proctor_session={sessions.log_in(context, secret)[0]}" for secret in secrets]
    run, other = at_work(context, projects[0]), at_work(context, projects[1])
    ann, bob = (walled.stream("/active/events", cookie) for cookie in cookies)
    until(lambda: walled.hub.watchers == 2)
    assert len(walled.hub) == 2  # one look for each reach
    settle(context, run, 1)
    all_heard([ann], "changed", 1)
    end(context, run)
    all_heard([ann], "ended", 1)
    settle(context, other, 1)
    all_heard([bob], "changed", 1)  # which was later than all of ann's
    assert bob.count("changed") == 1 and bob.count("ended") == 0
    assert walled.stream(f"/runs/{run.id}/events", cookies[1]).status == 404
    assert walled.stream(f"/runs/{run.id}/events").status in (303, 401)


def test_a_thousand_dropped_watchers_leave_no_task_and_no_thread(site: Served) -> None:
    run = at_work(site.context)
    first = site.stream(f"/runs/{run.id}/events")  # what the first one makes, stays
    first.close()
    until(lambda: len(site.hub) == 0)
    tasks, threads = site.tasks(), threading.active_count()
    for start in range(0, DROPPED, 100):
        listeners = [
            site.stream("/active/events" if place % 2 else f"/runs/{run.id}/events")
            for place in range(start, start + 100)
        ]
        for each in listeners:
            each.close()
    until(lambda: site.hub.watchers == 0 and len(site.hub) == 0)
    until(lambda: site.tasks() <= tasks)
    assert threading.active_count() <= max(threads, 48)  # the pools of threads are bounded, however many come


def test_who_watches_a_run_that_is_deleted_is_let_go(site: Served) -> None:
    run = at_work(site.context)
    listener = site.stream(f"/runs/{run.id}/events")
    with site.context.store.writing() as connection:
        connection.execute(update(RUN).where(RUN.c.id == run.id).values(id="gone" + run.id[4:]))
    until(lambda: listener.over)
    assert listener.count("end") == 0  # it has not ended: there is none
