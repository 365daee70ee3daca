"""The dashboard before much: a run of 1,000,000 results, and Overview with 10,000 runs, asked over HTTP.

Prints one JSON object: for each page the median and the 95th percentile of 30 requests in milliseconds, and the same
of /healthz, which is the least that a request takes here; and what a browser's first load of Overview takes and weighs.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import text

import served
from proctor.findings import OVER_TASKS, Estimate, Score
from proctor.manifest_json import manifest_from
from proctor.references import ExamRef
from proctor.service.results.profile import summary_of
from proctor.store import Store
from proctor.store.core import bodies
from proctor.store.core.attempts import narrow
from proctor.store.core.scores import Figures
from proctor.store.write import notes
from proctor.store.write.attempt_writer import Batch, write
from proctor.store.write.claims import Claim
from proctor.store.write.notes import Note
from proctor.types import (
    Attempt,
    Cell,
    Chat,
    Failure,
    Gold,
    Grade,
    Item,
    Message,
    Model,
    Outcome,
    Plan,
    Reply,
    Run,
    Status,
)

RESULTS, TASKS, PROMPTS, REQUESTS = 1_000_000, 10, 1000, 30
EVERY = RESULTS // TASKS
ROWS_AT_ONCE = 20_000
PAGES = {
    "run": "",
    "results": "/results",
    "of_task": "/results?task=t7",
    "of_outcome": "/results?outcome=truncated",
    "task_and_outcome": "/results?task=t0&outcome=error",  # there are none: the errors are in the last task
    "wrong": "/results?show=wrong",
    "no_answer": "/results?show=no_answer",
    "flagged": "/results?show=flagged",
    "deep": "/results?after=500000.0",
    "deep_back": "/results?order=desc&show=wrong&task=t4&after=450000.0",
    "id_one": "/results?item=t9/999999",
    "id_many": "/results?item=t9/",
    "text_hit": "/results?q=needle",
    "text_miss": "/results?q=nothing",
    "item": "/items/t5/500100",
    "item_wrong": "/items/t5/500700?show=wrong",
}
OVERVIEWS = {"overview": "/?days=90&suite=bench", "overview_all": "/?days=90&suite=all"}


def attempt_at(place: int, asked: Item) -> Attempt:
    """59 % right, 35 % wrong, 4 % without an answer, 2 % truncated; a few errors in the last task."""
    if place >= RESULTS - EVERY and place % 500 == 499:
        lost = Failure("network", "the network gave way")
        return Attempt(asked, place, 0, 0, 2.0, Grade(Outcome.ERROR, None), failure=lost)
    drawn = place * 7 % 1000
    bounds = (
        (590, Outcome.CORRECT),
        (940, Outcome.WRONG),
        (980, Outcome.NO_ANSWER),
        (1000, Outcome.TRUNCATED),
    )
    outcome = next(outcome for bound, outcome in bounds if drawn < bound)
    said = "a needle" if place % 10_000 == 9_999 else "ABCD"[place % 4] if drawn < 940 else None
    reading = Grade(outcome, float(outcome is Outcome.CORRECT), said, 1)
    reply = Reply("A", latency_s=0.1 + place % 977 / 400, input_tokens=200, output_tokens=5)
    return Attempt(asked, place, 0, 0, 2.0, reading, reply)


def batches(num: int) -> Iterator[Batch]:
    """The rows as the writer writes them. A thousand questions are asked again and again, under ids of their own."""
    packer = bodies.packer()
    asked = [
        Item("", "q", Chat((Message("user", f"Question {n}?"),)), Gold("A"), hash=f"{n:032x}")
        for n in range(PROMPTS)
    ]
    packed = bodies.pack_all(packer, [bodies.item_body(item) for item in asked])
    yield Batch(
        Claim(num, "bench", 1e10), (), (), [(i.hash, body) for i, body in zip(asked, packed, strict=True)]
    )
    (reply,) = bodies.pack_all(packer, [bodies.payload_body(attempt_at(0, asked[0]))])
    for start in range(0, RESULTS, ROWS_AT_ONCE):
        rows = []
        for place in range(start, start + ROWS_AT_ONCE):
            task = f"t{place // EVERY}"
            item = Item(f"{task}/{place}", task, Chat(), Gold("A"), hash=asked[place % PROMPTS].hash)
            rows.append(narrow(num, attempt_at(place, item), item.hash))
        claim = Claim(num, "bench", 1e10, settled=ROWS_AT_ONCE)
        yield Batch(claim, rows, [(*row[:4], reply) for row in rows], ())


def fill(store: Store) -> Run:
    """The run with its scores and its summary, as it is when it has ended."""
    cell = Cell(Model("bench", "big"), ExamRef("suite", "large"))
    tasks = {f"t{n}": f"Task {n}" for n in range(TASKS)}
    plan = store.add_plan(Plan((cell,)), now=1.0)
    run = store.add_run(
        plan, cell, source_title="Large", planned=RESULTS, manifest=manifest_from({"tasks": tasks}), comparability=None,
        sample=False, now=time.time(),
    )  # fmt: skip
    store.claim(run.id, owner="bench", now=time.time(), lease_s=1e9)
    for batch in batches(store.number(run.id)):
        write(store, batch)
    estimate = Estimate(0.59, 0.0005, 0.589, 0.591, RESULTS, RESULTS, "Wilson")
    scores = [Score("", "Large", f"accuracy{OVER_TASKS}{TASKS} tasks", estimate)]
    scores += [Score(task, title, "accuracy", estimate) for task, title in tasks.items()]
    figures = Figures(scores, summary_of(store, run, store.tally(run.id)))
    ended = store.finish(
        run.id, Status.COMPLETED, owner="bench", now=time.time(), elapsed_s=1.0, figures=figures
    )
    for n in range(20):
        place = n * RESULTS // 20
        notes.add(store, run.id, Note(0, f"t{place // EVERY}/{place}", 0, "ann", 2.0, n % 2 == 0, "odd"))
    return ended


def spread(store: Store) -> None:
    """The 10,000 runs of the server's bench end within the last 80 days, each with scores of its own."""
    with store.writing() as connection:
        connection.execute(
            text(
                "UPDATE run SET created_at = :now - (num % 80) * 86400.0 - 7200, finished_at = :now - (num % 80) * "
                "86400.0 - num % 3600 WHERE source = 'bench'"
            ),
            {"now": time.time()},
        )
        connection.execute(
            text(
                "INSERT OR IGNORE INTO score SELECT run.num, s.task, s.metric, s.title, s.place, s.value, s.stderr,"
                " s.low, s.high, s.scored, s.asked, s.method, s.reason FROM run, score s WHERE run.source = 'bench'"
                " AND s.run_num = (SELECT run_num FROM score LIMIT 1)"
            )
        )


@contextmanager
def serving(home: Path) -> Iterator[int]:
    """`proctor serve`; the port."""
    environ = {**os.environ, "PROCTOR_HOME": str(home), "PROCTOR_REQUESTS_PER_MINUTE": "1000000"}
    command = [sys.executable, "-m", "proctor", "serve", "--port", "0"]
    server = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield int(server.stdout.readline().split("http://")[1].split("/")[0].split()[0].rpartition(":")[2])
    finally:
        server.terminate()
        server.wait(timeout=30)


def first_load(port: int) -> tuple[float, int]:
    """Milliseconds and bytes of Overview with all that it asks for by itself, one after the other, gzipped."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    start, total, left, seen = time.perf_counter(), 0, ["/?days=90"], set[str]()
    while left:
        path = left.pop(0)
        connection.request("GET", path, headers={"Accept-Encoding": "gzip", "Accept": "text/html"})
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{path}: {answer.status}")
        total += len(body) + len(str(answer.headers))
        if not seen:
            left += needed(port)
        seen.add(path)
    connection.close()
    return 1000 * (time.perf_counter() - start), total


def needed(port: int) -> list[str]:
    """What the page refers to: scripts, styles with what these refer to, and pieces loaded at once."""
    page = _plain(port, "/?days=90")
    found = re.findall(r'(?:src|href)="(/assets/[^"]+)"', page)
    for style in [path for path in found if path.endswith(".css")]:
        found += [
            path for path in re.findall(r"url\([\"']?(/[^)\"']+)", _plain(port, style)) if path not in found
        ]
    for piece in re.findall(r"<[^>]*hx-get=[^>]*>", page):
        if 'hx-trigger="load' in piece:
            found += [address.replace("&amp;", "&") for address in re.findall(r'hx-get="([^"]+)"', piece)]
    return list(dict.fromkeys(found))


def _plain(port: int, path: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    words = connection.getresponse().read().decode()
    connection.close()
    return words


def measured(port: int, run: Run, rounds: int) -> dict[str, list[float]]:
    paths = {
        "health": "/healthz",
        **OVERVIEWS,
        **{name: f"/runs/{run.id}{path}" for name, path in PAGES.items()},
    }
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, path in paths.items():
            times = sorted(served.ask(port, path, REQUESTS))
            found.setdefault(f"{name}_ms", []).append(statistics.median(times))
            found.setdefault(f"{name}_p95_ms", []).append(times[int(0.95 * len(times))])
        load_ms, size = first_load(port)
        found.setdefault("load_ms", []).append(load_ms)
        found.setdefault("load_kb", []).append(size / 1000)
    return found


def main(folder: Path, rounds: int) -> None:
    home = folder / "dashboard"
    url = f"sqlite:///{home / 'proctor.db'}"
    start = time.perf_counter()
    served.fill(url)
    store = Store.open(url)
    spread(store)
    run = fill(store)
    store.close()
    print(f"dashboard: filled in {time.perf_counter() - start:.0f} s", file=sys.stderr)
    with serving(home) as port:
        print(json.dumps(measured(port, run, rounds)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
