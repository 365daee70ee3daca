"""Attempts read back: rows, pages, texts, scores and counts; the latest attempt is what stands."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event
from store_examples import NOW, answered, claimed, failed, item, keep_all

from proctor.errors import NotFound, StoreError
from proctor.findings import Estimate, Score, Speed, Tally
from proctor.store import AttemptRow, AttemptWriter, Store
from proctor.store.core.attempts import PAGE_ROWS
from proctor.types import Attempt, Chat, Grade, Item, Message, Outcome, Reply, Usage


def test_every_column_comes_back(store: Store) -> None:
    run = claimed(store)
    reply = Reply(
        "So I say B.", "let me think", "length", input_tokens=120, output_tokens=30, reasoning_tokens=20,
        latency_s=0.25, cost_usd=0.0015, service_s=0.125, raw=b'{"choices": []}', request_id="req-1",
        first_token_s=0.125, inter_token_s=0.0625,
    )  # fmt: skip
    reading = Grade(Outcome.WRONG, 0.25, "B", 3)
    unused = Usage(input_tokens=240, output_tokens=7, cost_usd=0.25)
    told = Attempt(item(7), 4, 2, 1, NOW + 0.125, reading, reply, retries=3, in_flight=2.5, unused=unused)
    keep_all(store, run, told)
    assert list(store.latest(run.id)) == [
        AttemptRow(
            item_id="boolq/7", repeat=2, attempt=1, position=4, task="boolq", item_hash=item(7).hash,
                target=item(7).target, cluster=item(7).cluster,
            outcome=Outcome.WRONG, score=0.25, answer="B", rung=3, latency_s=0.25, input_tokens=120,
            output_tokens=30, reasoning_tokens=20, cost_usd=0.0015, retries=3, error_slug=None, at=NOW + 0.125,
            service_s=0.125, in_flight=2.5, unused_input_tokens=240, unused_output_tokens=7, unused_cost_usd=0.25,
            first_token_s=0.125, inter_token_s=0.0625, status=None, finish="length",
        )
    ]  # fmt: skip
    assert store.payload(run.id, "boolq/7", 2) == {
        "text": "So I say B.", "reasoning": "let me think", "finish": "length", "error": None,
        "raw": '{"choices": []}', "request_id": "req-1",
    }  # fmt: skip
    assert store.item(item(7).hash) == item(7)


def test_a_failure_is_kept_with_its_words_and_measures_nothing(store: Store) -> None:
    run = claimed(store)
    keep_all(store, run, failed(0, slug="rate-limited"))
    (row,) = store.latest(run.id)
    assert (row.outcome, row.error_slug, row.retries) == (Outcome.ERROR, "rate-limited", 2)
    assert (row.score, row.answer, row.rung, row.latency_s, row.input_tokens, row.cost_usd) == (None,) * 6
    assert store.payload(run.id, "boolq/0") == {
        "text": None, "reasoning": None, "finish": None, "error": "the rate-limited gave way",
    }  # fmt: skip


def test_a_long_answer_is_cut_in_its_row_only(store: Store) -> None:
    run = claimed(store)
    long = "ä" * 500
    attempt = answered(0, text=long)
    keep_all(store, run, replace(attempt, grade=replace(attempt.grade, answer=long)))
    assert [row.answer for row in store.latest(run.id)] == ["ä" * 200]
    assert store.payload(run.id, "boolq/0")["text"] == long


def test_texts_that_databases_refuse_are_kept(store: Store) -> None:
    """PostgreSQL takes no NUL in a text, and nothing takes half a surrogate pair."""
    run = claimed(store)
    said = "a\0b \ud83d c 😀"
    attempt = answered(0, text=said)
    odd = replace(attempt.item, ask=Chat((Message("user", said),)), hash="odd")
    keep_all(store, run, replace(attempt, item=odd, grade=replace(attempt.grade, answer=said)))
    assert store.payload(run.id, "boolq/0")["text"] == said
    assert store.item("odd").ask.messages[0].content == said
    assert [row.answer for row in store.latest(run.id)] == ["a\ufffdb ? c 😀"]


def test_an_item_id_that_no_database_takes_is_an_error_in_words(store: Store) -> None:
    run = claimed(store)
    attempt = answered(0)
    with pytest.raises(StoreError, match="surrogates not allowed"):
        keep_all(store, run, replace(attempt, item=replace(attempt.item, id="half \ud83d")))
    assert list(store.latest(run.id)) == []


TEXTS = st.text(max_size=200)


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(texts=st.lists(st.tuples(TEXTS, TEXTS, st.binary(max_size=50)), min_size=1, max_size=5))
def test_whatever_is_said_comes_back(store: Store, texts: list[tuple[str, str, bytes]]) -> None:
    run = claimed(store)
    for place, (prompt, text, raw) in enumerate(texts):
        attempt = answered(place, text=text, raw=raw)
        asked = replace(attempt.item, ask=Chat((Message("user", prompt),)), hash="")
        keep_all(store, run, replace(attempt, item=asked))
    for row, (prompt, text, raw) in zip(store.latest(run.id), texts, strict=True):
        body = store.payload(run.id, row.item_id)
        assert body["text"] == text
        assert body.get("raw") == (raw.decode("utf-8", "replace") or None)
        assert store.item(row.item_hash).ask.messages == (Message("user", prompt),)


def test_an_item_is_kept_once_for_all_runs(store: Store) -> None:
    for _ in range(2):
        run = claimed(store)
        keep_all(store, run, answered(0), answered(0, repeat=1), failed(1), answered(1, attempt=1))
        keep_all(store, run, answered(0, repeat=2))
    with store.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM item").scalar() == 2
    assert store.item(item(1).hash) == item(1)


def test_items_without_a_hash_are_told_apart(store: Store) -> None:
    run = claimed(store)
    asked = [Item(f"q/{n}", "q", Chat((Message("user", f"question {n}"),))) for n in range(2)]
    keep_all(store, run, *(replace(answered(n), item=one) for n, one in enumerate(asked)))
    hashes = [row.item_hash for row in store.latest(run.id)]
    assert [len(digest) for digest in hashes] == [32, 32]
    assert [replace(store.item(digest), hash="") for digest in hashes] == asked


def test_settled_and_next_attempts_follow_the_latest_attempt(store: Store) -> None:
    run, other = claimed(store), claimed(store)
    assert (store.settled(run.id), store.next_attempts(run.id)) == (set(), {})
    keep_all(
        store, run,
        answered(0), answered(0, repeat=1, outcome=Outcome.TRUNCATED),
        failed(1), failed(1, attempt=1), failed(2), answered(2, attempt=1, outcome=Outcome.WRONG),
        answered(3), failed(3, attempt=1),
    )  # fmt: skip
    keep_all(store, other, answered(8))
    assert store.settled(run.id) == {("boolq/0", 0), ("boolq/0", 1), ("boolq/2", 0)}
    assert store.next_attempts(run.id) == {
        ("boolq/0", 0): 1, ("boolq/0", 1): 1, ("boolq/1", 0): 2, ("boolq/2", 0): 2, ("boolq/3", 0): 2,
    }  # fmt: skip
    assert store.settled(other.id) == {("boolq/8", 0)}


def test_latest_is_in_order_filtered_and_paged(store: Store) -> None:
    run = claimed(store)
    keep_all(
        store, run,
        answered(3, group="rte"), answered(2, repeat=1, outcome=Outcome.WRONG), answered(2),
        failed(0), answered(0, attempt=1), answered(1, group="rte", outcome=Outcome.WRONG),
    )  # fmt: skip

    def places(rows: Iterable[AttemptRow]) -> list[tuple[int, int]]:
        return [(row.position, row.repeat) for row in rows]

    everything = [(0, 0), (1, 0), (2, 0), (2, 1), (3, 0)]
    assert places(store.latest(run.id)) == everything
    assert [row.attempt for row in store.latest(run.id)] == [1, 0, 0, 0, 0]
    assert places(store.latest(run.id, task="rte")) == [(1, 0), (3, 0)]
    assert places(store.latest(run.id, outcome=Outcome.WRONG)) == [(1, 0), (2, 1)]
    assert places(store.latest(run.id, outcome=Outcome.ERROR)) == []
    assert places(store.latest(run.id, task="boolq", outcome=Outcome.CORRECT)) == [(0, 0), (2, 0)]
    assert places(store.latest(run.id, limit=2)) == everything[:2]
    assert places(store.latest(run.id, after=(2, 0), limit=2)) == everything[3:]
    assert places(store.latest(run.id, limit=0)) == []
    with pytest.raises(NotFound):
        store.latest("nothing")  # at the call, not at the first row


def test_more_rows_than_a_page_come_all_and_once(store: Store) -> None:
    count = PAGE_ROWS + 700
    run = claimed(store)
    keep_all(store, run, *(answered(place // 2, repeat=place % 2) for place in range(count)))
    expected = [(place // 2, place % 2) for place in range(count)]
    assert [(row.position, row.repeat) for row in store.latest(run.id)] == expected
    limited = store.latest(run.id, after=expected[9], limit=PAGE_ROWS + 5)
    assert [(row.position, row.repeat) for row in limited] == expected[10 : PAGE_ROWS + 15]
    half = store.latest(run.id)
    assert inspect.isgenerator(half)
    next(half)
    half.close()


def test_pages_are_read_off_an_index_without_a_sort(sqlite_url: str) -> None:
    """A page of a million rows must not sort a million rows; SQLite tells its plan."""
    store = Store.open(sqlite_url)
    run = claimed(store)
    keep_all(store, run, answered(0))
    asked: list[tuple[str, object]] = []

    def note(_connection: object, _cursor: object, statement: str, values: object, *_: object) -> None:
        asked.append((statement, values))

    event.listen(store.engine, "before_cursor_execute", note)
    for task in (None, "boolq"):
        for outcome in (None, Outcome.CORRECT):
            list(store.latest(run.id, task=task, outcome=outcome, after=(-1, 0)))
    event.remove(store.engine, "before_cursor_execute", note)
    pages = [(statement, values) for statement, values in asked if "newer" in statement]
    assert len(pages) == 4
    with store.reading() as connection:
        for statement, values in pages:
            plan = str(connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values).all())
            assert "TEMP B-TREE" not in plan, plan
            assert "SEARCH attempt USING INDEX" in plan, plan
            assert "SEARCH newer USING PRIMARY KEY" in plan, plan
    store.close()


def test_the_payload_of_each_attempt_can_be_asked_for(store: Store) -> None:
    run = claimed(store)
    keep_all(
        store, run, failed(0), answered(0, attempt=1, text="second"), answered(0, repeat=1, text="other")
    )
    assert store.payload(run.id, "boolq/0")["text"] == "second"
    assert store.payload(run.id, "boolq/0", attempt=0)["error"] == "the network gave way"
    assert store.payload(run.id, "boolq/0", 1)["text"] == "other"
    with pytest.raises(NotFound, match="item boolq/0, repeat 0, attempt 2"):
        store.payload(run.id, "boolq/0", attempt=2)
    with pytest.raises(NotFound, match="item boolq/9, repeat 0"):
        store.payload(run.id, "boolq/9")
    with pytest.raises(NotFound, match="hash beef"):
        store.item("beef")


def test_scores_come_back_in_order_and_are_replaced_whole(store: Store) -> None:
    run, other = claimed(store), claimed(store)
    full = Estimate(0.5, 0.1, 0.3, 0.7, 90, 100, "wilson")
    empty = Estimate(None, None, None, None, 0, 100, "wilson", reason="nothing was scored")
    scores = [Score("superglue", "SuperGLUE", "accuracy", full), Score("axb", "AX-b", "mcc", empty)]
    store.put_scores(run.id, scores)
    store.put_scores(other.id, scores[:1])
    assert store.scores(run.id) == tuple(scores)
    store.put_scores(run.id, scores[::-1])
    assert store.scores(run.id) == tuple(scores[::-1])
    store.put_scores(run.id, [])
    assert store.scores(run.id) == ()
    assert store.scores(other.id) == (scores[0],)
    with pytest.raises(StoreError):
        store.put_scores(other.id, [scores[1], scores[1]])
    assert store.scores(other.id) == (scores[0],)


def test_the_tally_is_over_the_latest_attempts(store: Store) -> None:
    run = claimed(store)
    keep_all(
        store, run,
        answered(0, latency_s=1.0, service_s=0.5, input_tokens=10, output_tokens=5, cost_usd=0.5),
        answered(1, latency_s=2.0, service_s=1.0, input_tokens=20, outcome=Outcome.WRONG),
        answered(2, latency_s=6.0, input_tokens=30, output_tokens=10, outcome=Outcome.NO_ANSWER, cost_usd=0.25),
        failed(3), answered(3, attempt=1, outcome=Outcome.REFUSED),
        failed(4), failed(5), failed(5, attempt=1, slug="rate-limited"),
    )  # fmt: skip
    assert store.tally(run.id) == Tally(
        outcomes={"correct": 1, "wrong": 1, "no_answer": 1, "refused": 1, "error": 2},
        answer_rate=0.5,
        # Rates are over the attempts that tell both their tokens and the seconds of that clock.
        speed=Speed(3.0, 3, None, 15 / 7.0, service_s=0.75, served=2, service_tokens_per_s=10.0),
        input_tokens_per_item=20.0,
        output_tokens_per_item=7.5,
        cost_usd=0.75,
        errors={"network": 1, "rate-limited": 1},
        retries=4,
    )
    assert list(store.tally(run.id).outcomes) == ["correct", "wrong", "no_answer", "refused", "error"]


def test_the_tally_counts_apart_what_replies_cost_that_do_not_count(store: Store) -> None:
    """Those that could not be used, and the attempts that a later one has replaced, with their own unused ones."""
    run = claimed(store)
    told = replace(answered(0, input_tokens=10, cost_usd=0.5), unused=Usage(7, 3, 0.25))
    failing = replace(failed(1), unused=Usage(100, 1, 1.0))
    keep_all(
        store, run,
        told, failing, answered(1, attempt=1, input_tokens=20, output_tokens=2),
        answered(2, input_tokens=1000, output_tokens=30, cost_usd=4.0), answered(2, attempt=1, input_tokens=30),
        failed(3), replace(failed(3, attempt=1), unused=Usage(input_tokens=20_000)),
    )  # fmt: skip
    tally = store.tally(run.id)
    assert tally.unused == Usage(7 + 100 + 1000 + 20_000, 3 + 1 + 30, 0.25 + 1.0 + 4.0)
    assert (tally.input_tokens_per_item, tally.cost_usd) == (20.0, 0.5)
    replaced = {key: usage for key, usage in store.replaced(run.id).items() if usage != Usage()}
    assert sorted(replaced.values(), key=str) == [Usage(100, 1, 1.0), Usage(1000, 30, 4.0)]


def test_a_tally_of_nothing_has_no_means(store: Store) -> None:
    run = claimed(store)
    assert store.tally(run.id) == Tally({}, None, None, None, None, None)
    keep_all(store, run, failed(0))
    assert store.tally(run.id) == Tally({"error": 1}, None, None, None, None, None, {"network": 1}, 2)


def test_answers_are_counted_by_task_target_answer_and_outcome(store: Store) -> None:
    run = claimed(store, planned=6)
    with AttemptWriter(store, run.id, owner="me") as writer:
        for place in range(4):
            writer.keep(answered(place))
        writer.keep(answered(4, outcome=Outcome.ERROR))
        writer.keep(answered(4, attempt=1, outcome=Outcome.WRONG))
    groups = {group.outcome: group for group in store.answer_groups(run.id)}
    assert groups.keys() == {Outcome.CORRECT, Outcome.WRONG}, "only the latest attempt counts"
    right = groups[Outcome.CORRECT]
    assert (right.task, right.target, right.answer, right.items, right.scored) == ("boolq", "A", "A", 4, 4)
    assert groups[Outcome.WRONG].items == 1
