"""The writer thread: what is counted is committed, nothing is doubled, and trouble is told."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import psycopg
import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError
from store_examples import NOW, answered, claimed, failed, keep_all, new_run

from postgres_server import Postgres
from proctor.errors import Conflict, StoreError
from proctor.store import AttemptWriter, Store
from proctor.store.write.attempt_writer import write
from proctor.types import Attempt

AT_ONCE = (0.0, 0.0, 0.0)


def places(store: Store, run_id: str) -> list[int]:
    return [row.position for row in store.latest(run_id)]


def count(store: Store, table: str) -> int:
    with store.reading() as connection:
        return int(connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one())


def lease(store: Store, run_id: str) -> float:
    with store.reading() as connection:
        rows = connection.exec_driver_sql(f"SELECT lease_until FROM run WHERE id = '{run_id}'")
        return float(rows.scalar_one())


def ended(writer: AttemptWriter) -> StoreError | Conflict:
    """The error with which a writer that had to give up is closed."""
    with pytest.raises((StoreError, Conflict)) as caught:
        writer.close()
    assert isinstance(caught.value, StoreError | Conflict)
    return caught.value


def test_everything_kept_is_committed_and_counted(store: Store) -> None:
    run = claimed(store, planned=1000)
    counted: list[int] = []
    writer = AttemptWriter(
        store, run.id, owner="me", batch=64, on_commit=lambda kept: counted.append(len(kept))
    )
    for place in range(1000):
        writer.keep(answered(place))
    writer.close()
    assert (writer.committed, writer.backlog, sum(counted)) == (1000, 0, 1000)
    assert max(counted) == 64
    assert places(store, run.id) == list(range(1000))
    assert count(store, "payload") == count(store, "item") == 1000


def test_a_counted_attempt_can_be_read_by_others_at_that_moment(store: Store) -> None:
    run = claimed(store)
    seen: list[tuple[int, int]] = []

    def look(news: Sequence[Attempt]) -> None:
        seen.append((len(news), len(store.settled(run.id))))

    keep = AttemptWriter(store, run.id, owner="me", batch=4, on_commit=look)
    for place in range(10):
        keep.keep(answered(place))
    keep.close()
    total = 0
    for news, rows in seen:
        total += news
        assert rows == total
    assert total == 10


def test_an_attempt_does_not_wait_for_a_full_batch(store: Store) -> None:
    run = claimed(store)
    arrived = threading.Event()
    writer = AttemptWriter(
        store, run.id, owner="me", batch=256, linger_s=0.01, on_commit=lambda _: arrived.set()
    )
    writer.keep(answered(0))
    assert arrived.wait(30)
    assert places(store, run.id) == [0]
    writer.close()


def test_settled_grows_with_each_batch(store: Store) -> None:
    run = claimed(store)
    keep_all(store, run, answered(0), failed(1), answered(2))
    assert store.run(run.id).settled == 2
    keep_all(store, run, answered(1, attempt=1))
    assert store.run(run.id).settled == 3


def test_closing_twice_is_closing_once_and_then_nothing_is_taken(store: Store) -> None:
    run = claimed(store)
    writer = AttemptWriter(store, run.id, owner="me")
    writer.keep(answered(0))
    writer.close()
    writer.close()
    with pytest.raises(StoreError, match="closed"):
        writer.keep(answered(1))
    assert places(store, run.id) == [0]


def test_the_lease_is_renewed_with_a_batch_and_without_one(store: Store) -> None:
    run = store.claim(new_run(store).id, owner="me", now=NOW, lease_s=60)
    now = [NOW + 10]
    arrived = threading.Event()
    writer = AttemptWriter(
        store, run.id, owner="me", linger_s=0.001, on_commit=lambda _: arrived.set(), clock=lambda: now[0]
    )
    writer.keep(answered(0))
    assert arrived.wait(30)
    assert lease(store, run.id) == NOW + 70
    renewed = threading.Event()

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("UPDATE run"):
            renewed.set()

    event.listen(store.engine, "after_cursor_execute", note)
    now[0] = NOW + 31  # a third of the lease later
    assert renewed.wait(30)
    event.remove(store.engine, "after_cursor_execute", note)
    writer.close()
    assert lease(store, run.id) == NOW + 91


def test_who_lost_the_run_keeps_nothing_more(store: Store) -> None:
    run = claimed(store)
    arrived = threading.Event()
    writer = AttemptWriter(store, run.id, owner="me", linger_s=0.001, on_commit=lambda _: arrived.set())
    writer.keep(answered(0))
    assert arrived.wait(30)
    store.claim(run.id, owner="you", now=NOW, lease_s=1e9, dead_owner="me")
    keep_all(store, run, answered(1), owner="you")
    writer.keep(answered(1))
    writer.keep(answered(2))
    error = ended(writer)
    assert isinstance(error, Conflict)
    assert "me lost the run" in str(error)
    assert "were not kept" in str(error)
    with pytest.raises(Conflict):
        writer.keep(answered(3))
    assert places(store, run.id) == [0, 1]
    assert writer.committed == 1


def test_an_attempt_that_is_there_already_is_an_error_not_a_second_row(store: Store) -> None:
    run = claimed(store)
    keep_all(store, run, answered(0))
    writer = AttemptWriter(store, run.id, owner="me")
    writer.keep(answered(5))
    writer.keep(answered(0, text="another"))
    assert "unique constraint" in str(ended(writer)).lower()
    assert places(store, run.id) == [0]
    assert store.payload(run.id, "boolq/0")["text"] == "The answer is A."


def failing(times: int, words: str, statement: str) -> Callable[..., None]:
    """A listener that fails a statement as a driver would, so many times."""
    left = [times]

    def fail(_connection: object, _cursor: object, asked: str, *_: object) -> None:
        if asked.startswith(statement) and left[0]:
            left[0] -= 1
            raise OperationalError(None, None, RuntimeError(words))

    return fail


def test_trouble_that_passes_loses_and_doubles_nothing(store: Store) -> None:
    run = claimed(store)
    event.listen(store.engine, "before_cursor_execute", failing(3, "away", "INSERT INTO payload"))
    with AttemptWriter(store, run.id, owner="me", pauses_s=AT_ONCE) as writer:
        for place in range(10):
            writer.keep(answered(place))
    assert places(store, run.id) == list(range(10))
    assert count(store, "attempt") == count(store, "payload") == 10
    assert store.run(run.id).settled == 10


def test_trouble_that_stays_is_told_in_the_databases_words(store: Store) -> None:
    run = claimed(store)
    event.listen(store.engine, "before_cursor_execute", failing(4, "the disk is gone", "INSERT INTO payload"))
    writer = AttemptWriter(store, run.id, owner="me", pauses_s=AT_ONCE)
    writer.keep(answered(0))
    error = ended(writer)
    assert "the disk is gone" in str(error)
    assert "1 attempts were not kept" in str(error)
    assert "open-sesame" not in str(error)
    with pytest.raises(StoreError, match="the disk is gone"):
        writer.keep(answered(1))
    assert places(store, run.id) == []
    keep_all(store, run, answered(0))  # the place is well again, and so is the store
    assert places(store, run.id) == [0]


def test_a_commit_that_was_not_heard_of_is_not_repeated(store: Store) -> None:
    """The connection may break between the commit and its answer: the next try finds the batch there."""
    run = claimed(store)
    writer = AttemptWriter(store, run.id, owner="me")
    batch = writer._pack([answered(0), failed(1), answered(2)])
    writer.close()
    write(store, batch)
    write(store, batch, again=True)
    assert places(store, run.id) == [0, 1, 2]
    assert store.run(run.id).settled == 2
    write(store, writer._pack([answered(3)]), again=True)
    assert places(store, run.id) == [0, 1, 2, 3]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_defect_in_the_thread_is_told_to_the_caller(sqlite_url: str) -> None:
    store = Store.open(sqlite_url)
    run = claimed(store)
    writer = AttemptWriter(store, run.id, owner="me", on_commit=lambda news: [][news])
    writer.keep(answered(0))
    with pytest.raises(StoreError, match="died of a defect"):
        for _ in range(3):
            writer.keep(answered(1))
            writer._thread.join(30)
    assert "died of a defect" in str(ended(writer))
    store.close()


def test_a_full_disk_is_told_and_what_was_committed_stays(sqlite_url: str) -> None:
    store = Store.open(sqlite_url)
    run = claimed(store, planned=100_000)

    def set_limit(connection: Any, _record: object) -> None:
        connection.execute("PRAGMA max_page_count=200")

    event.listen(store.engine, "connect", set_limit)
    store.engine.dispose()
    counted: list[int] = []
    writer = AttemptWriter(
        store,
        run.id,
        owner="me",
        batch=32,
        on_commit=lambda kept: counted.append(len(kept)),
        pauses_s=AT_ONCE,
    )
    place = 0
    with pytest.raises(StoreError, match="database or disk is full"):
        while place < 100_000:
            writer.keep(answered(place))
            place += 1
            if writer.backlog > 2000:  # on a busy machine all would be handed over before anything is written
                time.sleep(0.001)
    assert "database or disk is full" in str(ended(writer))
    assert 0 < sum(counted) == writer.committed < place
    event.remove(store.engine, "connect", set_limit)
    store.engine.dispose()
    assert places(store, run.id) == list(range(sum(counted)))
    assert store.run(run.id).settled == sum(counted)
    keep_all(store, run, answered(90_000))
    store.close()


def test_runs_that_keep_the_same_items_at_once_do_not_block_each_other(store: Store) -> None:
    runs = [claimed(store, planned=400) for _ in range(4)]
    keepers = [AttemptWriter(store, run.id, owner="me", batch=50) for run in runs]
    for place in range(400):
        for turn, writer in enumerate(keepers):
            writer.keep(answered(place if turn % 2 else 399 - place))
    for writer in keepers:
        writer.close()
    assert [places(store, run.id) for run in runs] == [list(range(400))] * 4
    assert count(store, "item") == 400


@pytest.mark.slow
def test_a_connection_that_is_killed_in_the_middle_of_a_batch_is_replaced(
    postgres: Postgres, postgres_url: str
) -> None:
    store = Store.open(postgres_url)
    run = claimed(store, planned=500)
    arrived = threading.Semaphore(0)
    writer = AttemptWriter(
        store, run.id, owner="me", on_commit=lambda news: arrived.release(len(news)), pauses_s=AT_ONCE
    )
    with psycopg.connect(postgres_url, autocommit=True) as guard:
        for turn in range(5):
            with guard.transaction():
                # The batch gets as far as its payloads and hangs there.
                guard.execute("LOCK TABLE payload IN ACCESS EXCLUSIVE MODE")
                for place in range(turn * 100, turn * 100 + 100):
                    writer.keep(answered(place))
                victim = None
                while victim is None:
                    assert writer._thread.is_alive()
                    # Not pg_stat_activity, which stands still within a transaction.
                    victim = guard.execute("SELECT pid FROM pg_locks WHERE NOT granted").fetchone()
                guard.execute("SELECT pg_terminate_backend(%s)", victim)
            for _ in range(100):
                assert arrived.acquire(timeout=30)
    writer.close()
    assert places(store, run.id) == list(range(500))
    assert count(store, "attempt") == count(store, "payload") == 500
    assert store.run(run.id).settled == 500
    store.close()


@pytest.mark.slow
def test_all_other_connections_may_be_killed_between_two_calls(postgres_url: str) -> None:
    store = Store.open(postgres_url)
    run = new_run(store)
    with psycopg.connect(postgres_url, autocommit=True) as guard:
        for _ in range(3):
            guard.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            assert store.run(run.id) == run
    store.close()


@pytest.mark.slow
def test_a_server_that_stays_away_is_told(own_postgres: Postgres) -> None:
    store = Store.open(own_postgres.url(own_postgres.new_database()))
    run = claimed(store)
    arrived = threading.Event()
    writer = AttemptWriter(
        store, run.id, owner="me", linger_s=0.001, on_commit=lambda _: arrived.set(), pauses_s=AT_ONCE
    )
    writer.keep(answered(0))
    assert arrived.wait(30)
    own_postgres.stop()
    writer.keep(answered(1))
    error = ended(writer)
    assert isinstance(error, StoreError)
    assert f"127.0.0.1:{own_postgres.port}" in str(error)
    assert "open-sesame" not in str(error)
    assert writer.committed == 1
    with pytest.raises(StoreError):
        store.run(run.id)
    store.close()


def test_memory_of_known_items_is_bounded(store: Store) -> None:
    run = claimed(store)
    writer = AttemptWriter(store, run.id, owner="me", batch=2, known_max=3)
    for repeat in range(3):
        for place in range(6):
            writer.keep(answered(place, repeat=repeat))
    writer.close()
    assert len(writer._known) <= 5
    assert count(store, "item") == 6
