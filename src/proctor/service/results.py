"""What runs show: scores, tallies, comparisons and the closing sentence, read off the kept attempts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from proctor.engine.prefix import gapless
from proctor.errors import ConfigError
from proctor.figures import sentence
from proctor.stats.compare import compare
from proctor.stats.estimates import Shape, count, scores
from proctor.store import AttemptRow, Store
from proctor.types import Evaluation, Run, RunResult


def summarise(store: Store, run: Run) -> RunResult:
    """The run's scores and tally; computed from its rows and kept as the run's aggregates."""
    shape = _shape(run)
    found = scores(count((row.task, row.score) for row in scored_rows(store, run)), shape)
    store.put_scores(run.id, found)
    return RunResult(run, found, store.tally(run.id))


def shown(store: Store, run: Run) -> RunResult:
    """The run as it stands: its kept scores if it has ended, else computed from the rows so far."""
    kept = store.scores(run.id) if run.finished_at else ()
    return RunResult(run, kept, store.tally(run.id)) if kept else _computed(store, run)


def _computed(store: Store, run: Run) -> RunResult:
    found = scores(count((row.task, row.score) for row in scored_rows(store, run)), _shape(run))
    return RunResult(run, found, store.tally(run.id))


def evaluation(store: Store, results: Sequence[RunResult]) -> Evaluation:
    """Results side by side. Raises ConfigError if they were not asked the same things in the same way."""
    plan_id = results[0].run.plan_id if results else ""
    if len(results) < 2:
        return Evaluation(plan_id, tuple(results), (), "")
    check_comparable([r.run for r in results])
    scored = [(r.run, _scored(store, r.run)) for r in results]
    pairs = compare(scored)
    # A tie must not depend on the order in which models were named only by accident: sorted() keeps it.
    ranked = sorted(results, key=lambda r: -(headline(r) or 0.0))
    return Evaluation(plan_id, tuple(results), pairs, sentence(pairs, [r.run.id for r in ranked]))


def headline(result: RunResult) -> float | None:
    return result.scores[0].estimate.value if result.scores else None


# What two numbers must share to be set side by side (statistics.md 3.6), as far as this version can vary it.
COMPARABILITY = {
    "rows": "kind of rows",
    "item_set_sha256": "items",
    "prompts": "prompts",
    "extractor": "extractor",
    "metrics": "metric versions",
}


def comparability(manifest: Mapping[str, Any]) -> str:
    """32 hex digits that runs share if their scores may be ranked together."""
    facts = {key: manifest.get(key) for key in COMPARABILITY}
    return hashlib.sha256(orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]


def check_comparable(runs: Sequence[Run]) -> None:
    """Raises ConfigError naming what differs between runs that cannot be compared."""
    first = runs[0]
    for other in runs[1:]:
        for key, word in COMPARABILITY.items():
            one, two = first.manifest.get(key), other.manifest.get(key)
            if one != two:
                raise ConfigError(
                    f"Runs {first.id[:8]} ({first.source_title}) and {other.id[:8]} ({other.source_title}) cannot be "
                    f"compared: they differ in their {word} ({one} and {two}). Run both models on the same source"
                )


def scored_rows(store: Store, run: Run) -> Iterator[AttemptRow]:
    """The latest attempt at each item, as far as the run got without a gap.

    What ended beyond the first gap of a run that stopped early ended because it was quick; counting it
    would favour easy items.
    """
    if not run.partial and not run.stopped:
        yield from store.latest(run.id)
        return
    length = gapless(row.position for row in store.latest(run.id))
    for row in store.latest(run.id):
        if row.position >= length:
            return
        yield row


def _scored(store: Store, run: Run) -> dict[tuple[str, str], float]:
    return {
        (row.item_id, row.item_hash): row.score for row in scored_rows(store, run) if row.score is not None
    }


def _shape(run: Run) -> Shape:
    manifest = run.manifest
    return Shape(run.source_title, manifest["tasks"], manifest["full_sizes"])
