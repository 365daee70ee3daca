"""A store with one batch run of a million answered requests, made as the engine's writer makes it."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import orjson

from proctor.manifest import UNOPENED
from proctor.references import BatchRef
from proctor.sources.batches.lines import GROUP, RequestLine, item_of
from proctor.store import AttemptWriter, Store
from proctor.types import Attempt, Cell, Failure, Grade, Item, Model, Outcome, Plan, Reply, Run, Status

WORDS = 20_000  # in the vocabulary; how often each comes falls as in speech
IN_REQUEST, IN_REPLY = 60, 40
FAILS, CUT, REFUSED = 0.01, 0.03, 0.001


def vocabulary() -> tuple[list[str], list[float]]:
    chance = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = sorted({"".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(WORDS)})
    chance.shuffle(words)
    sums, total = [], 0.0
    for place in range(len(words)):
        total += 1 / (place + 1)
        sums.append(total)
    return words, sums


def attempts(rows: int) -> Iterator[Attempt]:
    chance = random.Random(7)
    words, sums = vocabulary()

    def text(of: int) -> str:
        return " ".join(chance.choices(words, cum_weights=sums, k=of))

    for place in range(rows):
        name = f"candidate-{place % 5_000:04d}/{place}"
        asked = [{"role": "user", "content": text(IN_REQUEST)}]
        body = {"model": "sim", "messages": asked, "max_tokens": 200}
        item = item_of(RequestLine(name, "/v1/chat/completions", orjson.dumps(body), body))
        yield _answered(item, place, text(IN_REPLY), chance)


def _answered(item: Item, place: int, said: str, chance: random.Random) -> Attempt:
    at = 1_800_000_000.0 + place / 100
    drawn = chance.random()
    if drawn < FAILS:
        status = chance.choice((400, 429, 500, 503))
        raw = orjson.dumps({"error": {"message": f"no room at {place}", "code": status}})
        failure = Failure("server-error", f"the server said {status}", status=status, raw=raw)
        return Attempt(item, place, 0, 0, at, Grade(Outcome.ERROR, None), failure=failure)
    finish = "length" if drawn < FAILS + CUT else "refused" if drawn < FAILS + CUT + REFUSED else "stop"
    outcome = {"length": Outcome.TRUNCATED, "refused": Outcome.REFUSED}.get(finish, Outcome.ANSWERED)
    tokens = (chance.randint(40, 900), chance.randint(5, 200))
    choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": finish}
    usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
    raw = orjson.dumps(
        {"id": f"chatcmpl-{place}", "object": "chat.completion", "choices": [choice], "usage": usage}
    )
    reply = Reply(
        said,
        finish=finish,
        input_tokens=tokens[0],
        output_tokens=tokens[1],
        latency_s=chance.lognormvariate(0, 0.7),
        raw=raw,
        request_id=f"req_{place}",
    )
    return Attempt(item, place, 0, 0, at, Grade(outcome, None, said[:200]), reply=reply)


def make(url: str, rows: int) -> Run:
    """A completed run of so many rows. Prints how long writing took."""
    store = Store.open(url)
    cell = Cell(Model("simulator", "sim"), BatchRef("/data/million.jsonl"))
    now = time.time()
    plan_id = store.add_plan(Plan((cell,)), now=now)
    run = store.add_run(
        plan_id,
        cell,
        planned=rows,
        now=now,
        source_title="million.jsonl",
        manifest=UNOPENED,
        comparability=None,
        sample=False,
    )
    store.claim(run.id, owner="bench", now=time.time(), lease_s=3600)
    began = time.perf_counter()
    with AttemptWriter(store, run.id, owner="bench") as writer:
        for number, attempt in enumerate(attempts(rows)):
            writer.keep(attempt)
            while number % 1_000 == 0 and writer.backlog > 20_000:
                time.sleep(0.01)
    store.finish(run.id, Status.COMPLETED, owner="bench", now=time.time(), elapsed_s=rows / 100)
    took = time.perf_counter() - began
    print(f"{rows:,} rows of {GROUP} kept in {took:.0f} s", file=sys.stderr)
    found = store.run(run.id)
    store.close()
    return found


if __name__ == "__main__":
    home = Path(sys.argv[1])
    home.mkdir(parents=True, exist_ok=True)
    url = sys.argv[3] if len(sys.argv) > 3 else f"sqlite:///{home}/proctor.db"
    print(make(url, int(sys.argv[2])).id)
