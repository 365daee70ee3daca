"""`proctor rescore`: the kept replies of a run read again, by several extractors side by side. Nothing is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from proctor.errors import ConfigError, DataError
from proctor.findings import Estimate
from proctor.grading.extractors import Extractor, extractor
from proctor.service.context import find, open_store
from proctor.service.opening.sources import open_source
from proctor.service.results.answer_kinds import Reads, reads
from proctor.service.results.results import scored_rows
from proctor.settings import Settings
from proctor.sources.exams.source import SuiteSource
from proctor.stats.estimates import Count
from proctor.stats.estimates import accuracy as share_of
from proctor.stats.estimates_sheet import nothing
from proctor.store import AttemptRow, Store
from proctor.types import Grade, Item, Outcome, Reply, Run

SHOWN_CHARS = 200


@dataclass(frozen=True, slots=True)
class Reread:
    """What one extractor makes of a run. `unread` holds the items in which it found no answer."""

    extractor: str
    outcomes: Mapping[str, int]
    accuracy: Estimate
    unread: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A reply that the extractors read differently: what each made of it, by its name."""

    item_id: str
    repeat: int
    target: str | None
    answers: Mapping[str, str | None]
    outcomes: Mapping[str, str]
    reply: str  # its first 200 characters


@dataclass(frozen=True, slots=True)
class Rescoring:
    """A run read again. `errors` counts attempts without a reply: there is nothing to read in them."""

    run: Run
    read: tuple[Reread, ...]
    differences: tuple[Disagreement, ...]
    replies: int
    errors: int


def rescore(run_id: str, extractors: Sequence[str], settings: Settings) -> Rescoring:
    """Read a run's replies with each extractor; with a single one, beside the run's own. The run is not changed.

    Raises: NotFound, ConfigError for an unknown extractor or one that cannot read the run's tasks.
    """
    with open_store(settings) as store:
        run = one_run(store, run_id)
        how = how_read(run, settings)
        kinds = {each.kind for each in how.values()}
        chosen = [extractor(name, kinds) for name in names(run, extractors)]
        errors = 0
        readings: dict[str, list[tuple[str, Grade]]] = {each.name: [] for each in chosen}
        differences = []
        for row in scored_rows(store, run):
            if row.outcome is Outcome.ERROR:
                errors += 1
                continue
            item, reply = kept(store, run, row)
            found = {each.name: read_again(each, item, reply, how[row.task]) for each in chosen}
            for name, reading in found.items():
                readings[name].append((row.item_id, reading))
            if len({(reading.answer, reading.outcome) for reading in found.values()}) > 1:
                differences.append(difference(row, item, reply, found))
    replies = len(next(iter(readings.values())))
    return Rescoring(
        run,
        tuple(reread(name, found, replies + errors) for name, found in readings.items()),
        tuple(differences),
        replies,
        errors,
    )


def one_run(store: Store, run_id: str) -> Run:
    """Raises: NotFound; ConfigError for the id of a plan with several runs."""
    runs = find(store, run_id)
    if len(runs) > 1:
        raise ConfigError(
            f"{run_id} is a plan of {len(runs)} runs; name one of them: {', '.join(run.id[:8] for run in runs)}"
        )
    return runs[0]


def names(run: Run, extractors: Sequence[str]) -> list[str]:
    """The extractors asked for; a single one is set beside the run's own, which comes first."""
    asked = list(dict.fromkeys(extractors))
    own = run.manifest.get("extractor")
    return list(dict.fromkeys([own, *asked])) if own and len(asked) < 2 else asked


def how_read(run: Run, settings: Settings) -> Mapping[str, Reads]:
    """A file's labels have their synonyms in the file; where it is gone or changed, the manifest's names must do."""
    if run.cell.source.kind == "log":
        raise ConfigError(
            f"Run {run.id[:8]} was imported from another tool, which read its replies itself: they cannot be read again"
        )
    how = reads(run)
    if run.cell.source.kind != "file":
        return how
    try:
        source = open_source(run.cell.source, settings)
    except (ConfigError, DataError):
        return how
    same = source.manifest.get("item_set_sha256") == run.manifest.get("item_set_sha256")
    if not isinstance(source, SuiteSource) or not same:
        return how
    return {task: Reads(each.kind, source.vocabularies.get(task)) for task, each in how.items()}


def kept(store: Store, run: Run, row: AttemptRow) -> tuple[Item, Reply]:
    """What was asked and what was said, as they were kept."""
    said = store.payload(run.id, row.item_id, row.repeat, row.attempt)
    reply = Reply(
        said.get("text") or "",
        reasoning=said.get("reasoning"),
        finish=said.get("finish") or "stop",
        first_token=tuple((token, logprob) for token, logprob in said.get("first_token") or ()),
    )
    return store.item(row.item_hash), reply


def read_again(chosen: Extractor, item: Item, reply: Reply, how: Reads) -> Grade:
    return chosen.judge(item, reply, kind=how.kind, vocabulary=how.vocabulary)


def difference(row: AttemptRow, item: Item, reply: Reply, found: Mapping[str, Grade]) -> Disagreement:
    return Disagreement(
        row.item_id,
        row.repeat,
        item.target,
        {name: reading.answer for name, reading in found.items()},
        {name: reading.outcome.value for name, reading in found.items()},
        reply.text[:SHOWN_CHARS],
    )


def reread(name: str, found: Sequence[tuple[str, Grade]], asked: int) -> Reread:
    outcomes = Counter(reading.outcome for _, reading in found)
    return Reread(
        name,
        {outcome.value: outcomes[outcome] for outcome in Outcome if outcomes[outcome]},
        accuracy(found, asked),
        tuple(dict.fromkeys(item_id for item_id, reading in found if reading.answer is None)),
    )


def accuracy(found: Sequence[tuple[str, Grade]], asked: int) -> Estimate:
    """The share of scored replies that are right; repeats of an item count as one for the interval."""
    scored = list(_scored(found))
    if not scored:
        return nothing(asked, "no reply was scored")
    items = {item_id for item_id, _ in scored}
    return share_of(Count(asked, len(scored), sum(right for _, right in scored), len(items)))


def _scored(found: Sequence[tuple[str, Grade]]) -> Iterator[tuple[str, bool]]:
    for item_id, reading in found:
        if reading.score is not None:
            yield item_id, reading.outcome is Outcome.CORRECT
