"""Scheduled runs: when they come, that each time comes once, and that nothing is lost in silence."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from opened import over
from proctor.errors import ConfigError, Forbidden, NotFound
from proctor.references import ExamRef
from proctor.service.admin.access import deeds
from proctor.service.runs import queue, schedules
from proctor.service.runs.requests import RunRequest, plan_of
from proctor.service.runs.schedules import NewSchedule, Schedule, next_time
from proctor.settings import Settings, read_settings
from proctor.store import Store
from proctor.types import Cell, Model, Plan, Status

NOW = datetime(2026, 11, 21, 12, 0, 30, tzinfo=UTC).timestamp()
NIGHTLY = "0 2 * * *"
ANY = read_settings({"PROCTOR_HOME": "/nowhere"})
CELL = Cell(Model("ollama", "qwen3:8b"), ExamRef("suite", "glue", preset="quick"))


@pytest.fixture
def settings(tmp_path) -> Iterator[Settings]:
    yield read_settings({"PROCTOR_HOME": str(tmp_path)})


def added(store: Store, cron: str = NIGHTLY, cell: Cell = CELL, user: str = "ann") -> Schedule:
    return schedules.add(over(store, ANY), NewSchedule("nightly", cron, cell, user), now=NOW)


def at(*when: int) -> float:
    return datetime(*when, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("cron", "comes"),
    [
        (NIGHTLY, (2026, 11, 22, 2, 0)),
        ("*/15 * * * *", (2026, 11, 21, 12, 15)),
        ("30 6 * * mon-fri", (2026, 11, 23, 6, 30)),
        ("0 0 29 2 *", (2028, 2, 29)),
        ("@weekly", (2026, 11, 22)),
    ],
)
def test_times_are_in_utc(cron: str, comes: tuple[int, ...]) -> None:
    assert next_time(cron, NOW) == at(*comes)


@pytest.mark.parametrize(
    "cron",
    ["", "nightly", "0 2 * *", "0 0 2 * * *", "61 2 * * *", "@reboot", "0 2 * * ;", "9" * 99],
)
def test_what_is_no_time_is_refused_in_words(store: Store, cron: str) -> None:
    with pytest.raises(ConfigError, match=r"cron .*every night at two"):
        added(store, cron)
    assert schedules.all_schedules(over(store)) == []


def test_a_time_that_never_comes_is_called_so() -> None:
    with pytest.raises(ConfigError, match=r"'0 0 30 2 \*': no such time comes"):
        next_time("0 0 30 2 *", NOW)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [({"tasks": ["mnli", "nope"]}, "No task 'nope' in glue"), ({"provider": "replay"}, "--replies FILE")],
)
def test_what_no_job_could_do_is_named_before_the_night(
    settings: Settings, wrong: dict[str, object], says: str
) -> None:
    config = {"provider": "ollama", "model": "m", **wrong}
    asked = RunRequest.model_validate({"project_id": 1, "suite": "glue", "config": config})
    with pytest.raises(ConfigError, match=says):
        plan_of(asked, settings)


def test_an_address_that_its_jobs_may_not_ask_is_refused_at_once(store: Store, settings: Settings) -> None:
    inside = replace(CELL, model=Model("openai", "m", "http://127.0.0.1:8000/v1"))
    wanted = NewSchedule("nightly", NIGHTLY, inside, "ann")
    with pytest.raises(Forbidden, match="not public"):
        schedules.add(over(store, replace(settings, auth=True)), wanted, now=NOW)
    assert schedules.all_schedules(over(store)) == []
    assert schedules.add(over(store, settings), wanted, now=NOW).cell == inside


@pytest.mark.promise("A-32", "A-25")
def test_a_due_schedule_is_submitted_once_at_low_priority_as_its_user(
    store: Store, settings: Settings
) -> None:
    kept = added(store)
    assert schedules.submit_due(over(store, settings), now=kept.next_at - 1) == []
    (told,) = schedules.submit_due(over(store, settings), now=kept.next_at)
    (run,) = store.runs()
    assert run.id in told
    job = queue.job(over(store), run.id)
    assert (job.user, job.priority, job.schedule_id, job.project_id) == ("ann", "low", kept.id, 1)
    (deed,) = deeds(over(store))
    assert (deed.user, deed.action, deed.target) == ("ann", "submit", run.id)
    assert deed.detail == f"ollama/qwen3:8b on glue, schedule {kept.id} (nightly)"
    assert (run.status, run.cell.source.preset, run.cell.model) == (Status.PENDING, "quick", CELL.model)
    after = schedules.one(over(store), kept.id)
    assert (after.last_run_id, after.last_error, after.last_at) == (run.id, None, kept.next_at)
    assert after.next_at == kept.next_at + 86400
    assert schedules.submit_due(over(store, settings), now=kept.next_at + 1) == []


def test_missed_times_are_made_up_for_once(store: Store, settings: Settings) -> None:
    kept = added(store)
    late = kept.next_at + 10 * 86400 + 5
    assert len(schedules.submit_due(over(store, settings), now=late)) == 1
    assert len(store.runs()) == 1
    assert schedules.one(over(store), kept.id).next_at == kept.next_at + 11 * 86400


def test_many_workers_submit_a_due_time_once(store: Store, settings: Settings) -> None:
    for _ in range(5):
        added(store)
    barrier = threading.Barrier(6)
    told: list[str] = []

    def look() -> None:
        barrier.wait()
        told.extend(schedules.submit_due(over(store, settings), now=NOW + 86400))

    workers = [threading.Thread(target=look) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(told) == 5
    assert len(store.runs()) == 5
    assert {kept.last_error for kept in schedules.all_schedules(over(store))} == {None}


def test_a_full_queue_is_noted_and_the_next_time_is_tried(store: Store, settings: Settings) -> None:
    full = replace(settings, most_queued=1)
    kept = added(store)
    waiting = queue.submit(over(store, full), Plan((CELL,)), queue.Ticket("ann"))
    (told,) = schedules.submit_due(over(store, full), now=kept.next_at)
    assert "ann has 1 runs waiting" in told
    noted = schedules.one(over(store), kept.id)
    assert (noted.last_run_id, noted.last_at) == (None, kept.next_at)
    assert "ann has 1 runs waiting" in (noted.last_error or "")
    assert store.runs() == [waiting]
    assert schedules.submit_due(over(store, full), now=kept.next_at + 60) == []
    queue.cancel(over(store), waiting.id)
    assert len(schedules.submit_due(over(store, full), now=noted.next_at)) == 1
    assert schedules.one(over(store), kept.id).last_error is None


def test_a_schedule_that_cannot_be_meant_any_more_says_so_and_the_others_go_on(
    store: Store, settings: Settings
) -> None:
    gone = added(store)
    with store.writing() as connection:
        body = gone.body.replace('"glue"', '"blue"')
        connection.exec_driver_sql(f"UPDATE schedule SET body = '{body}' WHERE id = {gone.id}")
    strange = added(store)
    with store.writing() as connection:
        connection.exec_driver_sql(f"UPDATE schedule SET cron = 'now' WHERE id = {strange.id}")
    good = added(store)
    told = schedules.submit_due(over(store, settings), now=good.next_at)
    assert len(told) == 3
    assert "Invalid benchmark suite" in (schedules.one(over(store), gone.id).last_error or "")
    assert "give five fields" in (schedules.one(over(store), strange.id).last_error or "")
    assert schedules.one(over(store), good.id).last_run_id is not None
    assert schedules.submit_due(over(store, settings), now=good.next_at + 1) == []


def test_a_schedule_that_is_off_waits_and_makes_up_for_nothing(store: Store, settings: Settings) -> None:
    kept = added(store)
    schedules.set_enabled(over(store), kept.id, False, now=NOW)
    assert schedules.submit_due(over(store, settings), now=kept.next_at + 5) == []
    on = schedules.set_enabled(over(store), kept.id, True, now=kept.next_at + 5)
    assert (on.enabled, on.next_at) == (True, kept.next_at + 86400)
    assert schedules.submit_due(over(store, settings), now=kept.next_at + 6) == []


def test_schedules_are_listed_by_user_and_project_and_removed(store: Store) -> None:
    mine, other = added(store), added(store, user="bob")
    assert schedules.all_schedules(over(store)) == [mine, other]
    assert schedules.all_schedules(over(store), user="bob") == [other]
    assert schedules.all_schedules(over(store), project_id=2) == []
    assert mine.cell == CELL
    schedules.remove(over(store), mine.id)
    assert schedules.all_schedules(over(store)) == [other]
    for gone in (lambda: schedules.one(over(store), mine.id), lambda: schedules.remove(over(store), mine.id)):
        with pytest.raises(NotFound, match=f"Schedule {mine.id} not found"):
            gone()
    with pytest.raises(NotFound, match="Project 9 not found"):
        schedules.add(over(store, ANY), NewSchedule("n", NIGHTLY, CELL, "ann", 9), now=NOW)
    with pytest.raises(ConfigError, match="needs a name"):
        schedules.add(over(store, ANY), NewSchedule(" ", NIGHTLY, CELL, "ann"), now=NOW)


def test_now_is_the_time_of_the_wall_clock_if_none_is_given(store: Store) -> None:
    kept = schedules.add(over(store, ANY), NewSchedule("n", "* * * * *", CELL, "ann"))
    assert 0 < kept.next_at - time.time() <= 60
