"""How long pages of a large batch take: first, middle, last, and under each filter. `rows_store.py` makes the store."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator

from rows_store import vocabulary

from proctor.service.batches import results
from proctor.service.batches.results import RowFilter
from proctor.service.context import Context, open_context
from proctor.settings import read_settings
from proctor.types import Run

BAR_MS = 50.0


def looks(rows: int, chance: random.Random) -> Iterator[tuple[str, Callable[[], dict[str, object]]]]:
    """Each kind of page, and the words of one at random."""
    words, _ = vocabulary()

    def candidate() -> str:
        return f"candidate-{chance.randrange(5_000):04d}"

    yield "first page", dict
    yield "middle page", lambda: {"at": chance.randrange(rows)}
    yield "last page", lambda: {"at": rows - 50}
    yield "backwards", lambda: {"wanted": RowFilter(descending=True)}
    for status in ("failed", "429", "5xx", "truncated", "answered"):
        yield f"status {status}", lambda status=status: {"wanted": RowFilter(status=status)}
        yield (
            f"status {status}, middle",
            lambda status=status: {"wanted": RowFilter(status=status), "at": chance.randrange(2_000)},
        )
    yield "finish length", lambda: {"wanted": RowFilter(finish="length")}
    yield "tokens out 195 to 199", lambda: {"wanted": RowFilter(output_tokens=(195, 199))}
    yield "latency over 8 s", lambda: {"wanted": RowFilter(latency_s=(8, None))}
    yield (
        "failed or slow: 4 filters",
        lambda: {
            "wanted": RowFilter(latency_s=(5, 9), output_tokens=(100, 150), status="answered", custom_id="7/")
        },
    )
    yield "nothing matches", lambda: {"wanted": RowFilter(latency_s=(1e6, None))}
    yield "slowest first", lambda: {"wanted": RowFilter(order="latency", descending=True)}
    yield (
        "slowest truncated, middle",
        lambda: {"wanted": RowFilter(order="latency", status="truncated"), "at": chance.randrange(20_000)},
    )
    yield "custom_id begins", lambda: {"wanted": RowFilter(prefix=candidate())}
    yield "custom_id holds, rare", lambda: {"wanted": RowFilter(custom_id=f"/{chance.randrange(rows)}")}
    yield "custom_id holds, common", lambda: {"wanted": RowFilter(custom_id="candidate")}
    yield (
        "candidate by a pattern",
        lambda: {"wanted": RowFilter(candidate=candidate(), candidate_by=r"^([^/]+)/")},
    )
    for name, low, high in (("common", 0, 20), ("usual", 1_000, 3_000), ("rare", 12_000, 17_000)):
        yield (
            f"text, a {name} word",
            lambda low=low, high=high: {"wanted": RowFilter(text=words[chance.randrange(low, high)])},
        )
        yield (
            f"text, a {name} word, middle",
            lambda low=low, high=high: {
                "wanted": RowFilter(text=words[chance.randrange(low, high)]),
                "after": f"p{chance.randrange(rows)}.0",
            },
        )
    yield (
        "text, two usual words",
        lambda: {"wanted": RowFilter(text=" ".join(words[chance.randrange(300, 900)] for _ in range(2)))},
    )
    yield (
        "text and status",
        lambda: {"wanted": RowFilter(text=words[chance.randrange(20, 200)], status="truncated")},
    )
    yield "no such word", lambda: {"wanted": RowFilter(text="qqqqqqqqqqqqq")}


def measure(context: Context, run: Run, times: int) -> bool:
    chance, good = random.Random(3), True
    results.page(context, run)  # the columns come from the disk once
    print(f"{'page':<32}{'p50 ms':>9}{'p95 ms':>9}{'most':>9}  rows, matched")
    for name, words in looks(run.planned, chance):
        took = []
        for _ in range(times):
            asked = words()
            began = time.perf_counter()
            page = results.page(context, run, **asked)  # type: ignore[arg-type]  # words of `looks`
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
