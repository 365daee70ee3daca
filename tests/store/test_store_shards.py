"""Shards in the store: taken lowest first, kept under a lease, and what is kept of them guarded by it."""

from __future__ import annotations

import time

import pytest
from store_examples import answered, claimed

from proctor.errors import Conflict
from proctor.store import AttemptWriter, Store
from proctor.store.queue import shards
from proctor.types import Run, Status

LEASE = {"lease_s": 60.0}


def divided(store: Store, of: int = 3) -> Run:
    run = claimed(store, planned=30, owner="owner")
    assert shards.divide(store, run.id, owner="owner", of=of, now=time.time()) == of
    return run


def take(store: Store, run: Run, owner: str, now: float | None = None) -> int | None:
    return shards.take(store, run.id, owner=owner, now=now or time.time(), **LEASE)


def standing(store: Store, run: Run, now: float | None = None) -> shards.ShardCounts:
    found = shards.standing(store, run.id, now=now or time.time())
    assert found is not None
    return found


def test_the_lowest_free_shard_is_taken_and_nobody_takes_it_again(store: Store) -> None:
    run = divided(store)
    assert [take(store, run, owner) for owner in ("owner", "one", "two", "three")] == [0, 1, 2, None]
    assert standing(store, run) == shards.ShardCounts(0, 3, 0, ("owner", "one", "two"))
    assert shards.finish(store, run.id, 1, owner="one", now=time.time())
    assert not shards.finish(store, run.id, 2, owner="one", now=time.time())
    assert shards.put_back(store, owner="two") == 1
    assert [take(store, run, "one"), take(store, run, "one")] == [2, None]


def test_a_shard_whose_lease_is_over_is_taken_by_another(store: Store) -> None:
    run = divided(store, 1)
    later = time.time() + 100
    assert take(store, run, "one") == 0
    assert standing(store, run, later).waiting == 1
    assert shards.renew(store, owner="one", until=later + 1) == 1
    assert take(store, run, "two", later) is None
    assert take(store, run, "two", later + 2) == 0
    assert shards.renew(store, owner="one", until=later + 100) == 0


def test_no_shard_is_taken_of_a_run_that_ends(store: Store) -> None:
    run = divided(store)
    shards.say_stopped(store, run.id, "the money is gone", owner="stranger")
    assert take(store, run, "one") == 0
    shards.say_stopped(store, run.id, "the money is gone", owner="owner")
    assert take(store, run, "one") is None and shards.look(store, run.id).ends
    other = divided(store)
    assert take(store, other, "one", time.time() + 700) is None  # nobody would end it
    assert take(store, other, "one") == 0
    shards.say_failed(store, other.id, "the key is wrong", "auth-error", owner="stranger")
    assert not shards.look(store, other.id).ends
    shards.say_failed(store, other.id, "the key is wrong", "auth-error", owner="one")
    assert take(store, other, "two") is None
    assert shards.look(store, other.id).error_slug == "auth-error"
    store.finish(other.id, Status.FAILED, owner="owner", now=time.time(), elapsed_s=0.0)
    assert not shards.look(store, other.id).running


def test_a_run_that_is_divided_again_leaves_shards_with_whoever_is_at_work_on_them(store: Store) -> None:
    run = divided(store)
    assert [take(store, run, owner) for owner in ("owner", "one", "dead")] == [0, 1, 2]
    found = shards.divide(store, run.id, owner="owner", of=7, now=time.time(), dead=["dead"])
    assert found == 3 and standing(store, run).owners == ("one",)
    shards.put_back(store, owner="one")
    assert shards.divide(store, run.id, owner="owner", of=7, now=time.time()) == 3
    assert standing(store, run) == shards.ShardCounts(3, 0, 0)
    with pytest.raises(Conflict):
        shards.divide(store, run.id, owner="one", of=2, now=time.time())


def helper(store: Store, run: Run, owner: str = "one") -> AttemptWriter:
    return AttemptWriter(
        store, run.id, owner=owner, helps=owner != "owner", shard_of=lambda attempt: attempt.position // 10
    )


def keep(store: Store, run: Run, position: int, owner: str = "one") -> None:
    with helper(store, run, owner) as writer:
        writer.keep(answered(position))


def test_what_a_helper_keeps_counts_for_the_run_and_takes_none_of_its_time(store: Store) -> None:
    run = divided(store)
    assert [take(store, run, owner) for owner in ("owner", "one")] == [0, 1]
    keep(store, run, 12)
    kept = store.run(run.id)
    assert (kept.settled, kept.elapsed_s) == (1, 0.0)
    keep(store, run, 3, "owner")
    kept = store.run(run.id)
    assert kept.settled == 2 and kept.elapsed_s > 0


@pytest.mark.parametrize("owner", ["one", "owner"])
def test_nobody_keeps_attempts_of_a_shard_that_is_not_his(store: Store, owner: str) -> None:
    run = divided(store)
    assert [take(store, run, who) for who in (owner, "another")] == [0, 1]
    with pytest.raises(Conflict, match="lost shard 2"):
        keep(store, run, 12, owner)
    keep(store, run, 2, owner)
    shards.put_back(store, owner=owner)
    assert take(store, run, "another") == 0
    with pytest.raises(Conflict, match="lost shard 1"):
        keep(store, run, 3, owner)
    assert [row.position for row in store.latest(run.id)] == [2]
    assert store.run(run.id).settled == 1


def test_a_helper_keeps_nothing_of_a_run_that_has_ended_or_that_its_owner_ends(store: Store) -> None:
    run = divided(store)
    assert [take(store, run, owner) for owner in ("owner", "one")] == [0, 1]
    shards.revoke(store, run.id, owner="stranger")
    keep(store, run, 12)
    shards.revoke(store, run.id, owner="owner")
    with pytest.raises(Conflict, match="lost shard"):
        keep(store, run, 13)
    assert take(store, run, "one") == 1
    keep(store, run, 1, "owner")
    store.finish(run.id, Status.CANCELLED, owner="owner", now=time.time(), elapsed_s=0.0)
    with pytest.raises(Conflict, match="lost the run"):
        keep(store, run, 14)
    assert [row.position for row in store.latest(run.id)] == [1, 12]
