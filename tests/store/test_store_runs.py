"""Plans and runs: what is read back, which moves are allowed, and that only one can make each."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from store_examples import CELL, NOW, add_run, answered, claimed, failed, keep_all, new_run

from proctor.errors import ConfigError, Conflict, NotFound
from proctor.manifest import UNOPENED, ExamFacts, Manifest
from proctor.references import ExamRef
from proctor.store import Store
from proctor.types import Cell, Limits, Model, Outcome, Plan, Run, Sampling, Status

ODD = Cell(
    Model("openai", "org/model", "http://127.0.0.1:8000/v1"),
    ExamRef("file", "/data/fragen/größe.jsonl", tasks=("a", "b"), limit=7, answer_type="text"),
    Sampling(temperature=None, stop=("\n", "END"), think="high"),
    Limits(parallel=3, max_cost_usd=0.5),
    repeats=5,
)


def take(store: Store, run: Run, owner: str, now: float = NOW, dead_owner: str | None = None) -> Run:
    return store.claim(run.id, owner=owner, now=now, lease_s=60.0, dead_owner=dead_owner)


def test_a_run_is_read_back_as_it_was_added(store: Store) -> None:
    manifest = Manifest(ExamFacts(suite="größe"), unread={"nested": {"n": [1, 2.5, None]}, "word": "größe"})
    parent = new_run(store)
    plan_id = store.add_plan(Plan((CELL, ODD), name="two"), now=NOW)
    run = add_run(
        store, plan_id, 35, ODD, NOW + 1, source_title="Größe", manifest=manifest,
        comparability="c1", sample=True, parent_id=parent.id,
    )  # fmt: skip
    assert run == store.run(run.id)
    assert run == Run(
        id=run.id, plan_id=plan_id, status=Status.PENDING, cell=ODD, source_title="Größe", planned=35,
        settled=0, manifest=manifest, created_at=NOW + 1, parent_id=parent.id,
        comparability="c1", sample=True,
    )  # fmt: skip
    assert run.partial


def test_a_run_needs_its_plan(store: Store) -> None:
    with pytest.raises(NotFound, match="No plan nothing"):
        add_run(store, "nothing")


def test_a_run_is_found_by_the_beginning_of_its_id(store: Store) -> None:
    run = new_run(store)
    assert store.run(run.id[:8]) == run
    assert store.run(run.id[:8].upper()) == run
    with pytest.raises(ConfigError, match="at least 4"):
        store.run(run.id[:3])
    with pytest.raises(NotFound, match="No run zzzz"):
        store.run("zzzz")


@pytest.mark.parametrize("start", ["____", "%%%%"])
def test_wildcards_in_an_id_mean_nothing(store: Store, start: str) -> None:
    new_run(store)
    with pytest.raises(NotFound):
        store.run(start)


def test_an_ambiguous_beginning_lists_what_it_fits(store: Store) -> None:
    first, second = new_run(store), new_run(store)
    twin = first.id[:6] + second.id[6:]
    with store.writing() as connection:
        connection.exec_driver_sql(f"UPDATE run SET id = '{twin}' WHERE id = '{second.id}'")
    with pytest.raises(ConfigError, match="several runs") as caught:
        store.run(first.id[:6])
    assert first.id in str(caught.value)
    assert twin in str(caught.value)


def test_runs_come_newest_first_and_filtered(store: Store) -> None:
    other = replace(CELL, model=Model("openai", "org/model"))
    file = replace(CELL, source=ExamRef("file", "/somewhere/mine.jsonl"))
    a, b, c, d = (new_run(store, cell=cell, now=NOW + n) for n, cell in enumerate((CELL, other, file, CELL)))
    same_moment = new_run(store, now=NOW + 3)
    take(store, a, "me")

    def ids(runs: list[Run]) -> list[str]:
        return [run.id for run in runs]

    assert ids(store.runs()) == ids([same_moment, d, c, b, a])
    assert ids(store.runs(limit=2)) == ids([same_moment, d])
    assert ids(store.runs(model="org/model")) == ids(store.runs(model="openai/org/model")) == [b.id]
    assert ids(store.runs(model="model")) == []
    assert ids(store.runs(source="mine.jsonl")) == [c.id]
    assert ids(store.runs(source="superglue", status=Status.RUNNING)) == [a.id]
    assert ids(store.runs(status=Status.FAILED)) == []


def test_the_runs_of_a_plan_come_in_order_of_creation(store: Store) -> None:
    plan_id = store.add_plan(Plan((CELL, ODD)), now=NOW)
    first, second = add_run(store, plan_id, now=NOW + 9), add_run(store, plan_id, cell=ODD, now=NOW)
    new_run(store)
    assert store.plan_runs(plan_id) == [first, second]
    assert store.plan_runs(plan_id[:10]) == [first, second]
    with pytest.raises(NotFound, match="No plan zzzz"):
        store.plan_runs("zzzz")


def test_a_manifest_is_replaced(store: Store) -> None:
    run = new_run(store)
    store.set_manifest(run.id, Manifest(repeats=3))
    assert store.run(run.id).manifest == Manifest(repeats=3)
    with pytest.raises(NotFound):
        store.set_manifest("nothing", UNOPENED)


def test_a_pending_run_is_claimed_once(store: Store) -> None:
    run = new_run(store)
    mine = take(store, run, "me", NOW + 5)
    assert (mine.status, mine.started_at, store.owner_of(run.id)) == (Status.RUNNING, NOW + 5, "me")
    with pytest.raises(Conflict, match="running elsewhere, by me"):
        take(store, run, "you", NOW + 6)
    assert store.owner_of(run.id) == "me"


def test_of_many_threads_that_claim_one_run_one_wins(store: Store) -> None:
    crowd = 8
    for _ in range(10):
        run = new_run(store)
        gate = threading.Barrier(crowd)
        won: list[str] = []
        lost: list[str] = []

        def reach(name: str, run: Run = run, gate: threading.Barrier = gate, won: list[str] = won,
                  lost: list[str] = lost) -> None:  # fmt: skip
            gate.wait()
            try:
                take(store, run, name)
                won.append(name)
            except Conflict:
                lost.append(name)

        threads = [threading.Thread(target=reach, args=(f"t{n}",)) for n in range(crowd)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (len(won), len(lost)) == (1, crowd - 1)
        assert store.owner_of(run.id) == won[0]


def test_a_lease_that_is_over_frees_the_run(store: Store) -> None:
    run = new_run(store)
    take(store, run, "me")
    with pytest.raises(Conflict):
        take(store, run, "you", NOW + 59.9)
    assert take(store, run, "you", NOW + 60.0).started_at == NOW
    assert store.owner_of(run.id) == "you"
    assert not store.renew(run.id, owner="me", until=NOW + 999)


def test_a_run_is_taken_from_an_owner_that_is_known_to_be_dead(store: Store) -> None:
    run = new_run(store)
    take(store, run, "me")
    with pytest.raises(Conflict):
        take(store, run, "you", dead_owner="somebody")
    take(store, run, "you", dead_owner="me")
    assert store.owner_of(run.id) == "you"


def test_renewing_prolongs_the_lease(store: Store) -> None:
    run = new_run(store)
    take(store, run, "me")
    assert store.renew(run.id, owner="me", until=NOW + 500)
    with pytest.raises(Conflict):
        take(store, run, "you", NOW + 499)
    assert not store.renew(run.id, owner="you", until=NOW + 900)
    assert not store.renew("nothing", owner="me", until=NOW)
    take(store, run, "you", NOW + 500)


@pytest.mark.parametrize("status", [Status.FAILED, Status.CANCELLED, Status.PENDING])
def test_an_unfinished_end_can_be_resumed_and_time_adds_up(store: Store, status: Status) -> None:
    run = new_run(store)
    take(store, run, "me", NOW)
    over = store.finish(
        run.id, status, owner="me", now=NOW + 10, elapsed_s=9.5,
        stopped="the budget", error="boom \0 \ud800", error_slug="network",
    )  # fmt: skip
    assert (over.status, over.elapsed_s, over.stopped) == (status, 9.5, "the budget")
    assert (over.error, over.error_slug) == ("boom \ufffd ?", "network")
    assert over.finished_at == (None if status is Status.PENDING else NOW + 10)
    assert store.owner_of(run.id) is None
    again = take(store, run, "you", NOW + 20)
    assert (again.status, again.started_at, again.finished_at) == (Status.RUNNING, NOW, None)
    assert (again.stopped, again.error, again.error_slug) == (None, None, None)
    assert store.finish(run.id, status, owner="you", now=NOW + 30, elapsed_s=1.0).elapsed_s == 10.5


def test_settled_is_counted_from_the_rows_when_a_run_ends(store: Store) -> None:
    run = claimed(store, planned=4)
    keep_all(
        store, run,
        answered(0), answered(1, outcome=Outcome.NO_ANSWER),
        failed(2), failed(3), answered(3, attempt=1, outcome=Outcome.REFUSED),
    )  # fmt: skip
    over = store.finish(run.id, Status.COMPLETED, owner="me", now=NOW, elapsed_s=1.0)
    assert (over.status, over.settled, over.partial) == (Status.COMPLETED, 3, True)


def test_a_partial_run_is_resumed_and_a_complete_one_is_not(store: Store) -> None:
    run = claimed(store, planned=2)
    keep_all(store, run, answered(0), failed(1))
    assert store.finish(run.id, Status.COMPLETED, owner="me", now=NOW, elapsed_s=1.0).partial
    store.claim(run.id, owner="you", now=NOW, lease_s=1e9)
    keep_all(store, run, answered(1, attempt=1), owner="you")
    over = store.finish(run.id, Status.COMPLETED, owner="you", now=NOW, elapsed_s=1.0)
    assert (over.settled, over.partial) == (2, False)
    with pytest.raises(Conflict, match="completed with nothing missing"):
        take(store, run, "me")


def test_only_the_owner_ends_a_run_and_only_once(store: Store) -> None:
    run = new_run(store)
    with pytest.raises(Conflict, match="is pending"):
        store.finish(run.id, Status.COMPLETED, owner="me", now=NOW, elapsed_s=0.0)
    take(store, run, "me")
    with pytest.raises(Conflict, match="by me; you cannot end it"):
        store.finish(run.id, Status.FAILED, owner="you", now=NOW, elapsed_s=0.0)
    with pytest.raises(Conflict, match="cannot end as running"):
        store.finish(run.id, Status.RUNNING, owner="me", now=NOW, elapsed_s=0.0)
    store.finish(run.id, Status.CANCELLED, owner="me", now=NOW, elapsed_s=0.0)
    with pytest.raises(Conflict, match="is cancelled"):
        store.finish(run.id, Status.FAILED, owner="me", now=NOW, elapsed_s=0.0)
    assert store.run(run.id).status is Status.CANCELLED


def test_what_is_not_there_is_said_so(store: Store) -> None:
    with pytest.raises(NotFound, match="No run nothing"):
        store.claim("nothing", owner="me", now=NOW, lease_s=1.0)
    with pytest.raises(NotFound, match="No run nothing"):
        store.finish("nothing", Status.FAILED, owner="me", now=NOW, elapsed_s=0.0)
    with pytest.raises(NotFound, match="No run nothing"):
        store.owner_of("nothing")
    with pytest.raises(NotFound, match="No run nothing"):
        store.settled("nothing")
