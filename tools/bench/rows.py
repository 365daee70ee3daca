"""A batch of 1,000,000 answered requests: its pages under each filter, and its export as JSONL.

    python rows.py FOLDER ROUNDS

Prints one JSON object: the 95th percentile of pages in milliseconds, of the first, the middle, the last and the
slowest of all filters; a look at the run's row, which is the least that a page takes; and MB/s of the export.
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path

from rows_pages import looks
from rows_store import make

from proctor.service.batches import results
from proctor.service.batches.find import files
from proctor.service.context import Context, open_context
from proctor.service.output import lines
from proctor.settings import read_settings
from proctor.types import Run

ROWS, TIMES, LINES = 1_000_000, 40, 200_000
NAMES = {"first page": "rows_first_ms", "middle page": "rows_middle_ms", "last page": "rows_last_ms"}


def p95_ms(took: list[float]) -> float:
    return 1000 * sorted(took)[int(len(took) * 0.95)]


def pages(context: Context, run: Run) -> dict[str, float]:
    chance, filtered, found = random.Random(3), 0.0, {}
    results.page(context, run)  # the columns come from the disk once
    for name, words in looks(run.planned, chance):
        took = []
        for _ in range(TIMES):
            asked = words()
            began = time.perf_counter()
            results.page(context, run, **asked)
            took.append(time.perf_counter() - began)
        if name in NAMES:
            found[NAMES[name]] = p95_ms(took)
        else:
            filtered = max(filtered, p95_ms(took))
    return {**found, "rows_filtered_ms": filtered}


def export_mb_per_s(context: Context, run: Run) -> float:
    began, size = time.perf_counter(), 0
    for number, line in enumerate(lines.lines(context, run)):
        size += len(line)
        if number >= LINES:
            break
    return size / 1e6 / (time.perf_counter() - began)


def main(folder: Path, rounds: int) -> None:
    home = folder / "rows"
    home.mkdir()
    run_id = make(f"sqlite:///{home}/proctor.db", ROWS).id
    found: dict[str, list[float]] = {}
    with open_context(read_settings({"PROCTOR_HOME": str(home)})) as context:
        files.build(context, run_id)
        run = context.store.run(run_id)
        for _ in range(rounds):
            looked = []
            for _ in range(TIMES):
                began = time.perf_counter()
                context.store.run(run_id)
                looked.append(time.perf_counter() - began)
            round_ = {**pages(context, run), "row_export_mb_s": export_mb_per_s(context, run)}
            for name, value in {**round_, "run_row_ms": p95_ms(looked)}.items():
                found.setdefault(name, []).append(value)
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
