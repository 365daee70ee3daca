"""Deleting runs: only ended ones, and no item that somebody still needs."""

from __future__ import annotations

import threading
import time
from contextlib import closing

import psycopg
from store_examples import NOW, answered, claimed, keep_all, new_run

from postgres_server import Postgres
from proctor.store import Store
from proctor.store.admin import pruning
from proctor.types import Run, Status


def ended(store: Store, *places: int) -> Run:
    """A run that was answered at `places` and is completed."""
    run = claimed(store, len(places))
    keep_all(store, run, *(answered(place) for place in places))
    return store.finish(run.id, Status.COMPLETED, owner="me", now=time.time(), elapsed_s=1.0)


def items(store: Store) -> set[str]:
    with store.reading() as connection:
        return set(connection.exec_driver_sql("SELECT hash FROM item").scalars())


def hashes(*places: int) -> set[str]:
    return {answered(place).item.hash for place in places}


def test_only_ended_runs_go(store: Store) -> None:
    goes, works, waits = ended(store, 0), claimed(store), new_run(store)
    assert pruning.remove(store, [goes.id, works.id, waits.id, "no such run"]) == [goes.id]
    assert {run.id for run in store.runs()} == {works.id, waits.id}
    assert pruning.remove(store, [goes.id]) == []


def test_items_go_with_the_last_attempt_at_them(store: Store) -> None:
    first, second = ended(store, 0, 1, 2), ended(store, 2, 3)
    assert items(store) == hashes(0, 1, 2, 3)
    pruning.remove(store, [first.id])
    assert pruning.remove_orphans(store) == (1, 2)
    assert items(store) == hashes(2, 3) and len(list(store.latest(second.id))) == 2
    pruning.remove(store, [second.id])
    assert pruning.remove_orphans(store) == (1, 2)
    assert items(store) == set() and pruning.remove_orphans(store) == (0, 0)


def test_many_items_do_not_take_the_square_of_their_number(sqlite_url: str) -> None:
    """Counted in steps of SQLite's machine, not in seconds: a set needs some dozens for each row."""
    n = 4000
    with closing(Store.open(sqlite_url)) as store:
        run = claimed(store)
        rows = [(f"{place:032x}", b"") for place in range(n)]
        asked = [(run.id, f"i/{place}", place, f"{place:032x}", NOW) for place in range(0, n, 2)]
        steps = 0

        def step() -> int:
            nonlocal steps
            steps += 1
            return 0

        with store.writing() as connection:
            driver = connection.connection.driver_connection
            driver.executemany("INSERT INTO item VALUES (?, ?)", rows)
            driver.executemany(
                "INSERT INTO attempt (run_num, item_id, position, item_hash, at, repeat, attempt, task, outcome,"
                " retries) SELECT num, ?2, ?3, ?4, ?5, 0, 0, '', 'correct', 0 FROM run WHERE id = ?1",
                asked,
            )
            driver.set_progress_handler(step, 1000)
        assert pruning.remove_orphans(store)[1] == n // 2
    assert 0 < steps < n, f"{steps:,}000 steps for {n:,} items"


def test_an_item_that_a_run_is_about_to_commit_stays(postgres: Postgres) -> None:
    """On PostgreSQL two write at once: a batch has seen the item, its attempt is not committed yet."""
    name = postgres.new_database()
    (shared,) = hashes(0)
    store = Store.open(postgres.url(name))
    old, works = ended(store, 0), claimed(store)
    pruning.remove(store, [old.id])
    removing = threading.Thread(target=pruning.remove_orphans, args=(store,))
    with psycopg.connect(postgres.url(name).replace("+psycopg", "")) as batch:
        batch.execute("INSERT INTO item VALUES (%s, '') ON CONFLICT DO NOTHING", (shared,))
        removing.start()
        with psycopg.connect(postgres.url(name).replace("+psycopg", ""), autocommit=True) as looking:
            while (
                removing.is_alive()
                and not looking.execute(
                    "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'item'::regclass"
                ).fetchone()
            ):
                pass
        batch.execute(
            "INSERT INTO attempt (run_num, item_id, position, item_hash, at, repeat, attempt, task, outcome,"
            " retries) SELECT num, 'boolq/0', 0, %s, 0, 0, 0, '', 'correct', 0 FROM run WHERE id = %s",
            (shared, works.id),
        )
    removing.join()
    assert items(store) == {shared}
    store.close()
    postgres.drop(name)
