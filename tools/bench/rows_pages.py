"""How long pages of a large batch take: first, middle, last, and under each filter. `rows_store.py` makes the store."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from rows_store import vocabulary

from proctor.service.batches import results
from proctor.service.batches.results import RowFilter
from proctor.service.context import Context, open_context
from proctor.settings import read_settings
from proctor.types import Run

BAR_MS = 50.0
Words = Callable[[], dict[str, Any]]


def looks(rows: int, chance: random.Random) -> Iterator[tuple[str, Words]]:
    """Each kind of page, and the words of one at random."""
    yield "first page", page_of()
    yield "middle page", page_of(at=lambda: chance.randrange(rows))
    yield "last page", page_of(at=rows - 50)
    yield "backwards", page_of(descending=True)
    for status in ("failed", "429", "5xx", "truncated", "answered"):
        yield f"status {status}", page_of(status=status)
        yield f"status {status}, middle", page_of(status=status, at=lambda: chance.randrange(2_000))
    yield "finish length", page_of(finish="length")
    yield "tokens out 195 to 199", page_of(output_tokens=(195, 199))
    yield "latency over 8 s", page_of(latency_s=(8, None))
    four = {"latency_s": (5, 9), "output_tokens": (100, 150), "status": "answered", "custom_id": "7/"}
    yield "four filters", page_of(**four)
    yield "nothing matches", page_of(latency_s=(1e6, None))
    yield "slowest first", page_of(order="latency", descending=True)
    middle = page_of(order="latency", status="truncated", at=lambda: chance.randrange(20_000))
    yield "slowest truncated, middle", middle
    yield from _texts(rows, chance)


def _texts(rows: int, chance: random.Random) -> Iterator[tuple[str, Words]]:
    """Pages that are found by ids and words."""
    words, _ = vocabulary()

    def candidate() -> str:
        return f"candidate-{chance.randrange(5_000):04d}"

    def word(low: int, high: int) -> Callable[[], str]:
        return lambda: words[chance.randrange(low, high)]

    yield "custom_id begins", page_of(prefix=candidate)
    yield "custom_id holds, rare", page_of(custom_id=lambda: f"/{chance.randrange(rows)}")
    yield "custom_id holds, common", page_of(custom_id="candidate")
    yield "candidate by a pattern", page_of(candidate=candidate, candidate_by=r"^([^/]+)/")
    for name, low, high in (("common", 0, 20), ("usual", 1_000, 3_000), ("rare", 12_000, 17_000)):
        yield f"text, a {name} word", page_of(text=word(low, high))
        behind = page_of(text=word(low, high), after=lambda: f"p{chance.randrange(rows)}.0")
        yield f"text, a {name} word, middle", behind
    two = page_of(text=lambda: f"{words[chance.randrange(300, 900)]} {words[chance.randrange(300, 900)]}")
    yield "text, two usual words", two
    yield "text and status", page_of(text=word(20, 200), status="truncated")
    yield "no such word", page_of(text="qqqqqqqqqqqqq")


def page_of(**words: Any) -> Words:
    """What `results.page` is asked; functions are called anew for each page."""

    def asked() -> dict[str, Any]:
        told = {name: value() if callable(value) else value for name, value in words.items()}
        place: dict[str, Any] = {name: told.pop(name) for name in ("at", "after") if name in told}
        return {"wanted": RowFilter(**told), **place}

    return asked


def measure(context: Context, run: Run, times: int) -> bool:
    chance, good = random.Random(3), True
    results.page(context, run)  # the columns come from the disk once
    print(f"{'page':<32}{'p50 ms':>9}{'p95 ms':>9}{'most':>9}  rows, matched")
    for name, words in looks(run.planned, chance):
        took = []
        for _ in range(times):
            asked = words()
            began = time.perf_counter()
            page = results.page(context, run, **asked)
            took.append(1_000 * (time.perf_counter() - began))
        took.sort()
        p95 = took[int(len(took) * 0.95)]
        good &= p95 < BAR_MS
        found = f"{len(page.rows)}, {page.matched}, {page.search}"
        print(f"{name:<32}{took[len(took) // 2]:9.1f}{p95:9.1f}{took[-1]:9.1f}  {found}")
    return good


if __name__ == "__main__":
    environ = {"PROCTOR_HOME": sys.argv[1], **({"PROCTOR_DATABASE_URL": sys.argv[4]} if sys.argv[4:] else {})}
    with open_context(read_settings(environ)) as opened:
        whole = measure(opened, opened.store.run(sys.argv[2]), int(sys.argv[3]) if sys.argv[3:] else 40)
    sys.exit(0 if whole else 1)
