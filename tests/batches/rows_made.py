"""Batches for tests, kept as the engine keeps them: replies, refusals and failures of known sizes and words."""

from __future__ import annotations

import json
import time
from typing import Any

from opened import over
from proctor.manifest import UNOPENED
from proctor.references import BatchRef
from proctor.service.context import Context
from proctor.settings import read_settings
from proctor.sources.batches.lines import RequestLine, item_of
from proctor.store import AttemptWriter, Store
from proctor.types import Attempt, Cell, Failure, Grade, Model, Outcome, Plan, Reply, Run, Status

NOW = 1_800_000_000.0
FRUIT = ("apple", "banana", "cherry", "date")
CHAT = "/v1/chat/completions"


def body_of(place: int, **more: Any) -> dict[str, Any]:
    asked = f"Tell of the {FRUIT[place % 4]} number {place}."
    return {"model": "other", "messages": [{"role": "user", "content": asked}], **more}


def attempt_at(place: int, *, words: str = "", attempt: int = 0, **more: Any) -> Attempt:
    """Every tenth request is refused with 429, every fifteenth fails without an answer, every seventh is cut."""
    body = body_of(place, **more)
    raw = json.dumps(body).encode()
    name = f"{FRUIT[place % 4]}/{place:04d}"
    item = item_of(RequestLine(name, CHAT, raw, body, cluster=FRUIT[place % 4]))
    at = NOW + place
    if attempt == 0 and place % 10 == 3:
        refusal = json.dumps({"error": {"message": f"slow down at {place}"}}).encode()
        failure = Failure("rate-limited", "too many requests", status=429, raw=refusal)
        return Attempt(item, place, 0, 0, at, Grade(Outcome.ERROR, None), failure=failure)
    if attempt == 0 and place % 15 == 4:
        failure = Failure("network", "the line was cut")
        return Attempt(item, place, 0, 0, at, Grade(Outcome.ERROR, None), failure=failure)
    text = (
        words or f"A {FRUIT[place % 4]} of {'green' if place % 9 == 0 else 'red'} colour, weight {place} g."
    )
    finish = "length" if place % 7 == 0 else "stop"
    outcome = Outcome.TRUNCATED if finish == "length" else Outcome.ANSWERED
    reply = Reply(
        text,
        finish=finish,
        input_tokens=10 + place % 50,
        output_tokens=place % 90,
        latency_s=0.01 * ((place * 37) % 101),
        raw=reply_body(place, text, finish),
    )
    return Attempt(item, place, 0, attempt, at, Grade(outcome, None, text[:200]), reply=reply)


def reply_body(place: int, text: str, finish: str = "stop") -> bytes:
    """With a space and a long number that no rewriting would leave alone."""
    message = {"role": "assistant", "content": text}
    choices = [{"index": 0, "message": message, "finish_reason": finish}]
    body = {"id": f"chatcmpl-{place}", "big": 123456789012345678901234567890, "choices": choices}
    return json.dumps(body).encode()


def batch_of(
    store: Store,
    attempts: list[Attempt],
    *,
    model: str = "sim",
    planned: int | None = None,
    ended: bool = True,
) -> Run:
    """A run of these attempts, completed or at work."""
    cell = Cell(Model("simulator", model), BatchRef("/data/fruit.jsonl", candidate="^([a-z]+)/"))
    now = time.time()
    plan_id = store.add_plan(Plan((cell,)), now=now)
    run = store.add_run(
        plan_id,
        cell,
        planned=len(attempts) if planned is None else planned,
        now=now,
        source_title="fruit.jsonl",
        manifest=UNOPENED,
        comparability=None,
        sample=False,
    )
    store.claim(run.id, owner="me", now=time.time(), lease_s=600)
    with AttemptWriter(store, run.id, owner="me") as writer:
        for each in attempts:
            writer.keep(each)
    if ended:
        return store.finish(run.id, Status.COMPLETED, owner="me", now=time.time(), elapsed_s=10.0)
    return store.run(run.id)


def context_of(store: Store, home: Any) -> Context:
    return over(store, read_settings({"PROCTOR_HOME": str(home)}))
