"""The queue: its limits under many at once, its order, and every way out of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from queue_examples import CELL, NOW, at_once, submitted, taken
from store_examples import answered, new_run

from proctor.errors import Conflict, NotFound, QueueFull
from proctor.manifest import UNOPENED
from proctor.store import AttemptWriter, Store
from proctor.store.queue import endings, entries, taking
from proctor.store.queue.endings import Spent, Try, Verdict
from proctor.store.queue.entries import Ticket
from proctor.types import Plan, Run, Status


def state(store: Store, run: Run) -> tuple[str, str | None]:
    found = store.run(run.id)
    return found.status.value, found.error_slug or found.stopped


def end(store: Store, run: Run, verdict: Verdict, owner: str = "w1") -> bool:
    return endings.end(store, run.id, verdict, owner=owner, now=NOW + 5)


FAILED = Verdict(Status.FAILED, error="the network gave way", error_slug="network")
CANCELLED = Verdict(Status.CANCELLED, "cancelled")


def test_a_submitted_run_waits_and_knows_who_handed_it_over(store: Store) -> None:
    run = submitted(store, "ann", priority="normal")
    assert (run.status, run.planned, run.settled, run.manifest) == (Status.PENDING, 0, 0, UNOPENED)
    assert (run.source_title, run.cell) == ("SuperGLUE", CELL)
    job = entries.job(store, run.id)
    assert (job.run, job.user, job.priority, job.tries, job.project_id) == (run, "ann", "normal", 0, 1)
    assert store.plan_runs(run.plan_id) == [run]
    assert entries.waiting(store) == {"high": 0, "normal": 1, "low": 0}


def test_an_unknown_project_is_refused_and_keeps_nothing(store: Store) -> None:
    with pytest.raises(NotFound, match="Project 7 not found"):
        entries.submit(store, Plan((CELL,)), Ticket("ann", 7), most_queued=10, now=NOW)
    assert store.runs() == []


def test_a_plan_of_several_cells_waits_as_one_and_has_one_run_at_work_at_a_time(store: Store) -> None:
    plan = Plan((CELL, replace(CELL, repeats=2)), name="nightly")
    first, second = entries.submit_all(store, plan, Ticket("ann"), most_queued=1, now=NOW)
    assert (first.plan_id, second.cell.repeats) == (second.plan_id, 2)
    with pytest.raises(QueueFull):
        submitted(store, "ann", most=1)
    other = submitted(store, "bob")
    one = {"lease_s": 60.0, "most_running": 9}
    assert [taking.take_next(store, owner=f"w{n}", now=NOW, **one) for n in range(3)] == [
        store.run(first.id),
        store.run(other.id),
        None,
    ]
    end(store, first, CANCELLED, "w0")
    assert taking.take_next(store, owner="w3", now=NOW, **one) == store.run(second.id)
    # Both go back into a queue of one.
    end(store, second, CANCELLED, "w3")
    for run in (first, second):
        assert entries.restart(store, run.id, most_queued=1, now=NOW).status is Status.PENDING


def test_a_plan_of_several_cells_is_kept_whole_or_not_at_all(store: Store) -> None:
    def refuse(_connection: object, run: Run) -> None:
        if run.cell.repeats == 2:
            raise Conflict("no")

    plan = Plan((CELL, replace(CELL, repeats=2)))
    with pytest.raises(Conflict, match="no"):
        entries.submit_all(store, plan, Ticket("ann"), most_queued=10, now=NOW, also=refuse)
    assert store.runs() == []


def test_what_else_belongs_to_a_submission_is_kept_with_it_or_prevents_it(store: Store) -> None:
    seen = []

    def refuse(_connection: object, run: Run) -> None:
        seen.append(run.id)
        raise Conflict("no")

    with pytest.raises(Conflict, match="no"):
        entries.submit(store, Plan((CELL,)), Ticket("ann"), most_queued=10, now=NOW, also=refuse)
    assert len(seen) == 1
    assert store.runs() == []


@pytest.mark.slow
@pytest.mark.promise("A-16", "A-22")
def test_fifty_submissions_at_once_fill_two_queues_to_ten_each(store: Store, database_url: str) -> None:
    """Processes with threads of two users, all at one moment."""
    told = at_once(database_url, "submit", ["ann", "bob"], 25)
    assert len(told) == 50
    assert Counter(told)["full"] == 30
    kept = set(told) - {"full"}
    assert len(kept) == 20
    users = Counter(entries.job(store, run.id).user for run in store.runs(limit=100))
    assert users == {"ann": 10, "bob": 10}
    assert {run.id for run in store.runs(limit=100)} == kept


@pytest.mark.slow
@pytest.mark.promise("A-21")
def test_never_more_than_three_run_however_many_take(store: Store, database_url: str) -> None:
    waiting = {submitted(store).id for _ in range(20)}
    told = at_once(database_url, "take", ["a", "b", "c"], 7)
    running = [name for name in told if name != "none"]
    assert len(running) == len(set(running)) == 3
    assert set(running) < waiting
    assert entries.running(store, now=NOW) == 3
    assert entries.waiting(store)["high"] == 17


@pytest.mark.slow
def test_each_run_is_taken_once_and_all_are_taken(store: Store, database_url: str) -> None:
    waiting = {submitted(store).id for _ in range(12)}
    seen: list[str] = []
    while told := [name for name in at_once(database_url, "take", ["a", "b"], 4) if name != "none"]:
        assert len(told) == 3
        seen += told
        for run_id in told:
            owner = store.owner_of(run_id)
            assert owner is not None
            assert endings.end(store, run_id, CANCELLED, owner=owner, now=NOW)
    assert sorted(seen) == sorted(waiting)


@pytest.mark.promise("A-25")
def test_priorities_order_the_start_and_within_one_the_oldest_is_first(store: Store) -> None:
    names = ["low", "normal", "high", "low", "high", "normal"]
    runs = [submitted(store, priority=name) for name in names]
    assert [entries.ahead(store, run.id) for run in runs] == [4, 2, 0, 5, 1, 3]
    order = [taken(store, f"w{n}") for n in range(6)]
    assert order == [store.run(runs[n].id) for n in (2, 4, 1, 5, 0, 3)]
    assert taken(store, "w7") is None


def test_a_run_whose_lease_is_over_is_taken_before_those_that_wait(store: Store) -> None:
    dead = submitted(store, priority="low")
    assert taken(store, "w1") is not None
    submitted(store, priority="high")
    assert taken(store, "w2", now=NOW + 59, most=1) is None, "it is at work still, and there is no room"
    again = taken(store, "w2", now=NOW + 60, most=1)
    assert again is not None
    assert (again.id, entries.job(store, dead.id).tries) == (dead.id, 1), "the lost one does not count"
    with pytest.raises(Conflict, match="no longer w1's"):
        entries.prepare(store, dead.id, owner="w1", facts={"planned": 3})
    assert entries.prepare(store, dead.id, owner="w2", facts={"planned": 3}).planned == 3
    assert not end(store, dead, FAILED, "w1")


def test_a_run_is_taken_again_however_often_its_machine_is_lost(store: Store) -> None:
    """A lease that runs out tells of a killed worker or a lost machine: nothing that the run has done."""
    run = submitted(store)
    for turn in range(3 * entries.MOST_TRIES):
        assert endings.bury(store, now=NOW + 60 * turn) == []
        assert taken(store, f"w{turn}", now=NOW + 60 * turn) is not None
    assert entries.job(store, run.id).tries == 1


def failed_try(store: Store, run: Run, turn: int, **tried: Any) -> Verdict:
    """The run is taken and fails; what becomes of it, which is written down too."""
    assert taken(store, f"w{turn}", now=NOW + 1000 * turn) is not None
    found = Try(**{"settled_before": 0, **tried})
    verdict = endings.after(
        FAILED, entries.job(store, run.id), found, now=NOW + 1000 * turn, first_retry_s=60.0
    )
    assert end(store, run, verdict, f"w{turn}")
    return verdict


def test_three_tries_that_settle_nothing_make_a_failure_final(store: Store) -> None:
    run = submitted(store)
    found = [failed_try(store, run, turn) for turn in range(3)]
    assert [verdict.status for verdict in found] == [Status.PENDING, Status.PENDING, Status.FAILED]
    assert [verdict.run_after - NOW for verdict in found[:2]] == [60.0, 1120.0]


def test_a_try_that_the_run_did_not_spoil_counts_for_nothing(store: Store) -> None:
    run = submitted(store)
    failed_try(store, run, 0)
    for turn in range(1, 8):
        assert failed_try(store, run, turn, blameless=True).status is Status.PENDING
    assert entries.job(store, run.id).tries == 1


def test_a_try_that_settled_items_begins_the_count_afresh(store: Store) -> None:
    run = submitted(store)
    turn = 0
    for settled in range(4):
        assert failed_try(store, run, turn, settled_before=settled).status is Status.PENDING
        assert failed_try(store, run, turn + 1, settled_before=settled).status is Status.PENDING
        assert entries.job(store, run.id).tries == 2
        assert taken(store, "w", now=NOW + 1000 * (turn + 2)) is not None
        with AttemptWriter(store, run.id, owner="w", clock=lambda: NOW + 10**6) as writer:
            writer.keep(answered(settled))
        job = entries.job(store, run.id)
        verdict = endings.after(FAILED, job, Try(settled), now=NOW, first_retry_s=60.0)
        assert end(store, run, verdict, "w")
        assert entries.job(store, run.id).tries == 0
        turn += 3


def test_cancel_ends_what_waits_at_once(store: Store) -> None:
    run = submitted(store)
    assert entries.cancel(store, run.id, now=NOW)
    assert state(store, run) == ("cancelled", "cancelled")
    assert taken(store) is None
    with pytest.raises(Conflict, match="already ended: it is cancelled"):
        entries.cancel(store, run.id, now=NOW)


def test_cancel_asks_what_runs_and_is_heard_once(store: Store) -> None:
    run = submitted(store)
    taken(store, "w1")
    assert endings.to_end(store, ["w1"]) == {}
    assert not entries.cancel(store, run.id, now=NOW + 1)
    assert not entries.cancel(store, run.id, now=NOW + 2)
    assert endings.to_end(store, ["w1", "w2"]) == {"w1": NOW + 1}
    assert endings.to_end(store, ["w2"]) == {}
    assert end(store, run, CANCELLED)
    assert endings.to_end(store, ["w1"]) == {}
    assert state(store, run) == ("cancelled", "cancelled")


def test_cancel_ends_a_run_whose_process_died(store: Store) -> None:
    run = submitted(store)
    taken(store)
    assert entries.cancel(store, run.id, now=NOW + 61)
    assert state(store, run) == ("cancelled", "cancelled")


def test_a_run_whose_process_died_after_it_was_cancelled_is_not_taken_again(store: Store) -> None:
    run = submitted(store)
    taken(store)
    entries.cancel(store, run.id, now=NOW + 1)
    assert taken(store, "w2", now=NOW + 61) is None
    assert endings.bury(store, now=NOW + 59) == []
    assert endings.bury(store, now=NOW + 61) == [run.id]
    assert state(store, run) == ("cancelled", "cancelled")


def test_a_cancellation_that_came_as_the_run_went_back_into_the_queue_is_honoured(store: Store) -> None:
    run = submitted(store)
    taken(store)
    entries.cancel(store, run.id, now=NOW + 1)
    end(store, run, Verdict(Status.PENDING, run_after=NOW))
    assert taken(store, "w2", now=NOW + 2) is None
    assert endings.bury(store, now=NOW + 2) == [run.id]
    assert state(store, run) == ("cancelled", "cancelled")


def test_only_jobs_that_exist_can_be_cancelled_or_restarted(store: Store) -> None:
    of_the_command_line = new_run(store)
    for run_id in ("nothing", of_the_command_line.id):
        with pytest.raises(NotFound, match=f"No job {run_id}"):
            entries.cancel(store, run_id, now=NOW)
        with pytest.raises(NotFound, match=f"No job {run_id}"):
            entries.restart(store, run_id, most_queued=10, now=NOW)


def test_a_failed_run_waits_for_its_next_try_with_its_error_to_be_seen(store: Store) -> None:
    run = submitted(store)
    taken(store)
    assert end(store, run, Verdict(Status.PENDING, None, "it broke", "network", run_after=NOW + 60))
    assert state(store, run) == ("pending", "network")
    assert store.run(run.id).finished_at is None
    assert taken(store, "w2", now=NOW + 59) is None
    again = taken(store, "w2", now=NOW + 60)
    assert again is not None
    assert (again.error, again.error_slug, entries.job(store, run.id).tries) == (None, None, 2)


def test_a_try_that_ended_with_its_worker_does_not_count(store: Store) -> None:
    run = submitted(store)
    for turn in range(5):
        assert taken(store, f"w{turn}") is not None
        back = Verdict(Status.PENDING, run_after=NOW, counted=False)
        if turn % 2:
            endings.put_off(store, run.id, back, owner=f"w{turn}")
            store.finish(run.id, Status.PENDING, owner=f"w{turn}", now=NOW, elapsed_s=1.0)
        else:
            assert end(store, run, back, f"w{turn}")
    assert entries.job(store, run.id).tries == 0


def test_putting_off_is_for_the_owner_alone(store: Store) -> None:
    run = submitted(store)
    taken(store, "w1")
    endings.put_off(store, run.id, Verdict(Status.PENDING, run_after=NOW + 99), owner="w2")
    assert entries.job(store, run.id).run_after == NOW


def test_a_run_that_was_made_to_end_by_a_limit_is_failed_and_says_so(store: Store) -> None:
    run, other = submitted(store), submitted(store)
    taken(store)
    entries.cancel(store, run.id, now=NOW)
    end(store, run, CANCELLED)
    limit = Verdict(Status.FAILED, error="too much memory", error_slug="resource-limit")
    assert endings.overrule(store, run.id, limit, now=NOW)
    assert state(store, run) == ("failed", "resource-limit")
    entries.cancel(store, other.id, now=NOW)
    assert not endings.overrule(store, other.id, limit, now=NOW), "a user's own cancellation stays one"


def test_restart_begins_the_count_of_tries_and_money_afresh(store: Store) -> None:
    run = submitted(store)
    taken(store)
    entries.prepare(store, run.id, owner="w1", facts={"planned": 3})
    with AttemptWriter(store, run.id, owner="w1", clock=lambda: NOW) as writer:
        writer.keep(answered(0, input_tokens=30, output_tokens=4, cost_usd=0.5))
        writer.keep(answered(1, input_tokens=20))
    assert endings.spent(store, run.id) == Spent(54, 0.5)
    with pytest.raises(Conflict, match="is running: there is nothing to restart"):
        entries.restart(store, run.id, most_queued=10, now=NOW)
    end(store, run, FAILED)
    again = entries.restart(store, run.id, most_queued=10, now=NOW + 10)
    assert (again.status, again.settled, again.error) == (Status.PENDING, 2, None)
    with pytest.raises(Conflict, match="is pending"):
        entries.restart(store, run.id, most_queued=10, now=NOW + 10)
    assert entries.job(store, run.id).tries == 0
    assert taken(store, "w2", now=NOW + 10) is not None
    assert endings.spent(store, run.id) == Spent(0, 0.0)


def test_restart_is_for_what_lacks_outcomes_and_finds_room(store: Store) -> None:
    run = submitted(store)
    taken(store)
    with AttemptWriter(store, run.id, owner="w1", clock=lambda: NOW) as writer:
        writer.keep(answered(0))
    entries.prepare(store, run.id, owner="w1", facts={"planned": 1})
    end(store, run, Verdict(Status.COMPLETED))
    with pytest.raises(Conflict, match="is completed: there is nothing to restart"):
        entries.restart(store, run.id, most_queued=10, now=NOW)
    partial = submitted(store)
    taken(store)
    entries.prepare(store, partial.id, owner="w1", facts={"planned": 2})
    end(store, partial, Verdict(Status.COMPLETED))
    submitted(store)
    with pytest.raises(QueueFull, match="ann has 1 runs waiting, and 1 may wait at once"):
        entries.restart(store, partial.id, most_queued=1, now=NOW)
    assert entries.restart(store, partial.id, most_queued=2, now=NOW).status is Status.PENDING
