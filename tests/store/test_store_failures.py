"""What was said of attempts that failed, as it is read back and counted."""

from __future__ import annotations

from dataclasses import replace

from store_examples import answered, claimed, failed, keep_all

from proctor.service.results import causes
from proctor.store import AttemptWriter
from proctor.store.read.failures import Failed, kept
from proctor.store.read.failures import failed as read
from proctor.types import Attempt, Failure


def saying(place: int, slug: str, message: str, attempt: int = 0) -> Attempt:
    return replace(failed(place, attempt=attempt), failure=Failure(slug, message))


def test_messages_are_grouped_whatever_their_numbers_and_read_only_up_to_a_bound(store):
    run = claimed(store, 2 * causes.MOST_READ)
    n = causes.MOST_READ + 7
    with AttemptWriter(store, run.id, owner="me") as writer:
        for place in range(n):
            words = f"request {place} ({place + 2000} tokens) is too long" if place % 5 else "another thing"
            writer.keep(saying(place, "context-overflow", f"openai at http://h/v1 answered 400: {words}"))
        writer.keep(saying(n, "network", "http://h: connection refused"))
    found = causes.counted(store, run.id, store.tally(run.id).errors)
    assert [(cause.slug, cause.said, cause.items) for cause in found] == [
        ("context-overflow", "request 1 (2001 tokens) is too long", 400),
        ("context-overflow", "another thing", 100),
        ("context-overflow", "", 7),
        ("network", "http://h: connection refused", 1),
    ]


def test_only_items_whose_latest_attempt_failed_are_read(store):
    run = claimed(store, 3)
    keep_all(store, run, saying(0, "network", "first"), answered(0, attempt=1))
    keep_all(store, run, saying(1, "network", "first"), saying(1, "network", "second", attempt=1))
    assert read(store, run.id, "network", limit=10) == [Failed("boolq/1", "second")]
    assert read(store, run.id, "network", limit=0) == [] == read(store, run.id, "auth", limit=10)
    assert kept(store, [run.id]) == {}, "a run at work has no summary"
