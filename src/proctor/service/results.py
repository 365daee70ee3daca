"""What runs show: scores, tallies, comparisons and the closing sentence, read off the kept attempts."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import orjson

from proctor.engine.prefix import gapless
from proctor.errors import ConfigError
from proctor.figures import sentence
from proctor.findings import Evaluation, RunResult
from proctor.service.profile import keep_summary, tally_of
from proctor.service.wordings import by_wording, sign_note
from proctor.stats.compare import compare, focused
from proctor.stats.estimates import Scored, Shape, TaskShape, scores
from proctor.store import AttemptRow, Store
from proctor.types import Item, Run


class Kept(Protocol):
    """Where the attempts of runs are found: the store, or an unpacked bundle."""

    def latest(self, run_id: str) -> Iterator[AttemptRow]: ...

    def item(self, digest: str) -> Item: ...


def summarise(store: Store, run: Run) -> RunResult:
    """The run's scores and tally; computed from its rows and kept as the run's aggregates."""
    found = scores(marks(store, run), shape(run))
    store.put_scores(run.id, found)
    tally = store.tally(run.id)
    keep_summary(store, run, tally)
    return RunResult(run, found, tally)


def shown(store: Store, run: Run) -> RunResult:
    """The run as it stands: its kept scores if it has ended, else computed from the rows so far."""
    if not run.manifest:  # a job that nothing was asked for yet
        return RunResult(run, (), store.tally(run.id))
    kept = store.scores(run.id) if run.finished_at else ()
    return RunResult(run, kept, tally_of(store, run)) if kept else _computed(store, run)


def _computed(store: Store, run: Run) -> RunResult:
    if not run.manifest:  # a job that nobody has begun, or that ended before: nothing was asked
        return RunResult(run, (), store.tally(run.id))
    found = scores(marks(store, run), shape(run))
    return RunResult(run, found, store.tally(run.id))


def evaluation(
    store: Kept, results: Sequence[RunResult], *, margin: float | None = None, metric: str = "score"
) -> Evaluation:
    """Results side by side. `metric` "score" is the headline; another is its mean over the tasks that report it.

    `margin` is how close two scores are that count as practically equal, in the metric's units; None is a hundredth
    of the metric's range.

    Raises ConfigError if they were not asked the same things in the same way, or no task has the metric.
    """
    plan_id = results[0].run.plan_id if results else ""
    if len(results) < 2:
        return Evaluation(plan_id, tuple(results), (), "")
    check_comparable([r.run for r in results])
    sides = [(r.run, list(marks(store, r.run))) for r in results]
    pairs = compare(sides, focused(shape(results[0].run), metric), margin=margin)
    values = {c.second.id: c.whole.second for c in pairs} | {c.first.id: c.whole.first for c in pairs}
    if metric == "score":
        values = {r.run.id: headline(r) for r in results}
    # A tie must not depend on the order in which models were named only by accident: sorted() keeps it.
    ranked = sorted(results, key=lambda r: downwards(values[r.run.id]))
    verdict = sentence(pairs, [r.run.id for r in ranked])
    if results[0].run.manifest.get("wording") == "all":
        best, runner_up = (by_wording(scored_rows(store, r.run)) for r in ranked[:2])
        verdict = f"{verdict} {sign_note(best, runner_up)}".rstrip()
    return Evaluation(plan_id, tuple(results), pairs, verdict)


def downwards(value: float | None) -> float:
    """Sorts the best first and what was not measured last: an MCC may be below 0.

    >>> sorted([None, -0.2, 0.1], key=downwards)
    [0.1, -0.2, None]
    """
    return math.inf if value is None else -value


def headline(result: RunResult) -> float | None:
    return result.scores[0].estimate.value if result.scores else None


# What two numbers must share to be set side by side, as far as this version can vary it.
COMPARABILITY: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    # An imported copy and the hub's are the same rows if their hash says so; sample rows never are.
    "kind of rows": lambda m: m.get("rows") if m.get("rows") in ("sample", "file") else "official",
    "items": lambda m: m.get("item_set_sha256"),
    "prompts": lambda m: m.get("prompts"),
    "style": lambda m: [m.get(key) for key in ("style", "wording", "shots", "shuffle")],
    "mode of answering": lambda m: m.get("mode", "generate"),
    "extractor": lambda m: m.get("extractor"),
    "metric versions": lambda m: m.get("metric_versions"),
}


def comparability(manifest: Mapping[str, Any]) -> str:
    """32 hex digits that runs share if their scores may be ranked together."""
    facts = [look(manifest) for look in COMPARABILITY.values()]
    return hashlib.sha256(orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]


def check_comparable(runs: Sequence[Run]) -> None:
    """Raises ConfigError naming what differs between runs that cannot be compared."""
    for run in runs:
        if not run.manifest:
            raise ConfigError(
                f"Run {run.id[:8]} ({run.source_title}) is {run.status} and was asked nothing: choose one that was"
            )
    first = runs[0]
    for other in runs[1:]:
        for word, look in COMPARABILITY.items():
            one, two = look(first.manifest), look(other.manifest)
            if one != two:
                raise ConfigError(
                    f"Runs {first.id[:8]} ({first.source_title}) and {other.id[:8]} ({other.source_title}) cannot "
                    f"be compared: they differ in their {word} ({_apart(one, two)}). Ask the same of both, in the "
                    f"same way{_in_all_wordings(first, other)}"
                )


def _in_all_wordings(first: Run, other: Run) -> str:
    if first.manifest.get("wording") == other.manifest.get("wording"):
        return ""
    return "; with --wording all every item is asked in all three wordings"


def _apart(one: object, two: object) -> str:
    """Two facts of manifests, of tables only what differs."""
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        keys = [key for key in dict.fromkeys([*one, *two]) if one.get(key) != two.get(key)]
        one, two = (", ".join(f"{key}: {of.get(key, '-')}" for key in keys) for of in (one, two))
    return f"{one} and {two}"


def scored_rows(store: Kept, run: Run) -> Iterator[AttemptRow]:
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


def shape(run: Run) -> Shape:
    """What the statistics need of the run's source, from its manifest."""
    manifest = run.manifest
    specs = manifest["metrics"]
    tasks = {
        key: TaskShape(
            title=title,
            official=tuple(specs[key]["official"]),
            also=tuple(specs[key]["also"]),
            positive=specs[key]["positive"],
            labels=tuple(specs[key]["labels"]),
            kind=specs[key]["kind"],
            full_size=manifest["full_sizes"].get(key),
            extra=specs[key]["extra"],
        )
        for key, title in manifest["tasks"].items()
    }
    return Shape(
        suite=run.source_title,
        tasks=tasks,
        aggregate=manifest.get("aggregate", "micro"),
        categories=tuple((title, tuple(keys)) for title, keys in manifest.get("categories", {}).items()),
        whole=manifest.get("scored_tasks"),
        worded=manifest.get("wording") == "all",
    )


def marks(store: Kept, run: Run) -> Iterator[Scored]:
    """The run's rows as the statistics take them."""
    specs = run.manifest["metrics"]
    for row in scored_rows(store, run):
        # Only where a question has several right answers does a metric need to know how many were offered.
        several = specs[row.task]["kind"] == "letters"
        yield mark(row, len(store.item(row.item_hash).choices) if several else None)


def mark(row: AttemptRow, candidates: int | None) -> Scored:
    """One row as the statistics take it; `candidates` as in `Scored`."""
    return Scored(
        item=row.item_id,
        task=row.task,
        target=row.target,
        answer=row.answer,
        outcome=row.outcome,
        score=row.score,
        cluster=row.cluster,
        half=_half(row),
        repeat=row.repeat,
        candidates=candidates,
        content=row.item_hash,
    )


def _half(row: AttemptRow) -> str | None:
    """The half of MNLI that an item is from, "m" or "mm": its id begins with it."""
    rest = row.item_id.partition("/")[2]
    return rest.partition("-")[0] if rest.startswith(("m-", "mm-")) else None
