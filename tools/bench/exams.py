"""Two MMLU-sized runs in a store: the time of all intervals of one, and of the full comparison of both.

Prints one JSON object: seconds from the stored rows to the result, and those of a bootstrap of one mean in plain
numpy, which is the least that such statistics take.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

from proctor.findings import METRIC_VERSIONS
from proctor.manifest_json import manifest_from
from proctor.references import ExamRef
from proctor.service.evidence.evaluation import evaluation
from proctor.service.results.results import computed
from proctor.store import AttemptWriter, Store
from proctor.types import Attempt, Cell, Chat, Gold, Grade, Item, Model, Outcome, Plan, Reply, Run, Status

SUBJECTS, ITEMS = 57, 14_042


def stored(store: Store, right: np.ndarray, name: str) -> Run:
    """A completed run with an answer to each item."""
    keys = [f"subject_{i:02}" for i in range(SUBJECTS)]
    spec = {
        "official": ["accuracy"],
        "also": [],
        "positive": None,
        "kind": "choices",
        "labels": [],
        "extra": False,
    }
    manifest = manifest_from(
        {
            "tasks": {key: key for key in keys},
            "metrics": dict.fromkeys(keys, spec),
            "metric_versions": {"accuracy": METRIC_VERSIONS["accuracy"]},
            "full_sizes": {key: len(range(i, ITEMS, SUBJECTS)) for i, key in enumerate(keys)},
            "aggregate": "micro",
        }
    )
    cell = Cell(Model("bench", name), ExamRef("suite", "mmlu"))
    plan = store.add_plan(Plan((cell,)), now=1.0)
    run = store.add_run(
        plan,
        cell,
        source_title="MMLU",
        planned=ITEMS,
        manifest=manifest,
        comparability="k",
        sample=False,
        now=1.0,
    )
    store.claim(run.id, owner="bench", now=1.0, lease_s=1e9)
    writer = AttemptWriter(store, run.id, owner="bench", lease_s=1e9)
    for i, ok in enumerate(right.tolist()):
        item = Item(f"{keys[i % SUBJECTS]}/{i}", keys[i % SUBJECTS], Chat(), Gold("A"), hash=f"{i:032x}")
        outcome = Outcome.CORRECT if ok else Outcome.WRONG
        reading = Grade(outcome, float(ok), "A" if ok else "B", 1)
        writer.keep(Attempt(item, i, 0, 0, 2.0, reading, Reply("A")))
    writer.close()
    return store.finish(run.id, Status.COMPLETED, owner="bench", now=3.0, elapsed_s=1.0)


def main(folder: Path, rounds: int) -> None:
    random = np.random.default_rng(0)
    store = Store.open(f"sqlite:///{folder / 'exams.db'}")
    runs = [stored(store, random.random(ITEMS) < share, f"m{share}") for share in (0.6, 0.62)]
    found: dict[str, list[float]] = {"intervals_s": [], "compare_s": [], "bootstrap_s": []}
    for _ in range(rounds):
        start = time.perf_counter()
        values = random.random(ITEMS) < 0.6
        for _ in range(20):
            values[random.integers(0, ITEMS, size=(100, ITEMS))].mean(axis=1)
        found["bootstrap_s"].append(time.perf_counter() - start)
        start = time.perf_counter()
        results = [computed(store, runs[0])]
        found["intervals_s"].append(time.perf_counter() - start)
        results.append(computed(store, runs[1]))
        start = time.perf_counter()
        evaluation(store, results)
        found["compare_s"].append(time.perf_counter() - start)
    store.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
