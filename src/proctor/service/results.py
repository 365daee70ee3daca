"""What runs show: scores, tallies, comparisons and the closing sentence, read off the kept attempts."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol, Unpack

import orjson

from proctor.engine.prefix import gapless
from proctor.errors import ConfigError, NotFound, StoreError
from proctor.figures import sentence
from proctor.findings import Evaluation, RunResult, Score
from proctor.service.profile import has_summary, summary_of, tally_of
from proctor.service.wordings import by_wording, sign_note
from proctor.stats.compare import compare, focused
from proctor.stats.estimates import Scored, Shape, TaskShape, scores
from proctor.store import AttemptRow, Store
from proctor.store.runs import Ending
from proctor.store.scores import Figures, lacking
from proctor.store.scores import add as add_figures
from proctor.types import Item, Outcome, Run, Status

MARGIN = 0.01  # two scores closer than this are practically equal, unless the user says otherwise


class Kept(Protocol):
    """Where the attempts of runs are found: the store, or an unpacked bundle."""

    def latest(self, run_id: str) -> Iterator[AttemptRow]: ...

    def item(self, digest: str) -> Item: ...


def close(store: Store, run_id: str, status: Status, **ending: Unpack[Ending]) -> RunResult:
    """End `owner`'s work on a run for good: what it shows is counted first, and kept in one transaction with its end.

    Raises Conflict if the run is no longer `owner`'s, StoreError, NotFound.
    """
    tally = store.tally(run_id)
    settled = sum(tally.outcomes.values()) - tally.outcomes.get(Outcome.ERROR.value, 0)
    run = replace(store.run(run_id), status=status, stopped=ending.get("stopped"), settled=settled)
    found = RunResult(run, scores(marks(store, run), shape(run)), tally)
    ending["figures"] = _figures(store, found)
    return replace(found, run=store.finish(run_id, status, **ending))


def _figures(store: Store, result: RunResult) -> Figures:
    return Figures(result.scores, summary_of(store, result.run, result.tally))


def shown(store: Store, run: Run) -> RunResult:
    """The run as it stands: its kept figures if it has ended, else computed from the rows so far."""
    if not run.manifest:  # a job that nothing was asked for yet
        return RunResult(run, (), store.tally(run.id))
    kept = store.scores(run.id) if run.finished_at else ()
    if run.finished_at and not has_summary(store, run):
        return _made_good(store, run, kept)
    return RunResult(run, kept, tally_of(store, run)) if kept else computed(store, run)


def _made_good(store: Store, run: Run, kept: tuple[Score, ...]) -> RunResult:
    """An ended run without figures gets them: the scores that it has, if an older version wrote them alone."""
    result = RunResult(run, kept, store.tally(run.id)) if kept else computed(store, run)
    with suppress(StoreError):  # a full or read-only disk is no reason to show nothing
        add_figures(store, run, _figures(store, result))
    return result


def make_good(store: Store, *, longest_s: float = math.inf, hopeless: set[str] | None = None) -> list[str]:
    """Give all ended runs that lack figures theirs; says what it did.

    Whatever reads kept scores of several runs asks for this first; to find that none lacks any costs one
    look at the runs' rows. After `longest_s` no other run is begun; those whose rows cannot be scored are
    added to `hopeless`, and left alone if they are in it. Raises StoreError.
    """
    told: list[str] = []
    hopeless = set() if hopeless is None else hopeless
    began = time.monotonic()
    for run_id in lacking(store):
        if told and time.monotonic() - began > longest_s:
            break
        if run_id in hopeless:
            continue
        try:
            shown(store, store.run(run_id))
            told.append(f"run {run_id}: it had ended without scores; they are counted and kept now")
        except NotFound:
            continue  # deleted meanwhile
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            hopeless.add(run_id)
            told.append(f"run {run_id}: it ended without scores, and its rows cannot be scored: {error!r}")
    return told


def computed(store: Store, run: Run) -> RunResult:
    """What the run shows by the rows of now, whatever is kept."""
    found = scores(marks(store, run), shape(run))
    return RunResult(run, found, store.tally(run.id))


def evaluation(
    store: Kept, results: Sequence[RunResult], *, margin: float = MARGIN, metric: str = "score"
) -> Evaluation:
    """Results side by side. `metric` "score" is the headline; another is its mean over the tasks that report it.

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
