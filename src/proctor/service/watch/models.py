"""What the pages of models show: every model with scores, runs, speed, cost and last use; one across all kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from proctor.findings import Speed
from proctor.plan import cell_from_json
from proctor.service.context import Context
from proctor.service.evidence.cache import Lately
from proctor.service.kinds import kind_of
from proctor.service.results.profile import speed_of
from proctor.service.results.results import make_good
from proctor.store.admin import registry
from proctor.store.read import models
from proctor.store.read.models import ModelRunRow, ModelScore, ModelTotals
from proctor.types import Status

__all__ = [
    "Catalogue",
    "Kind",
    "ModelLine",
    "ModelPage",
    "ModelRun",
    "ModelScore",
    "catalogue",
    "model_page",
    "sorted_by",
]

NEWEST = 300  # runs of one model that its page is made of
SORTS = ("model", "runs", "speed", "cost", "last")
Kind = Literal["questions", "requests", "tasks", "verdicts"]


@dataclass(frozen=True, slots=True)
class ModelLine:
    """A model in the list. `scores` has one for each source; `usual` says of which it is of the usual exam.

    `cost_usd` is the sum over the `priced` of its `runs`, `cost_per_1000` that of 1,000 settled items among them; None
    is unknown. `speed` is of its newest run that measured it.
    """

    name: str
    provider: str
    runs: int = 0
    at_work: int = 0
    last_at: float | None = None
    cost_usd: float | None = None
    priced: int = 0
    cost_per_1000: float | None = None
    speed: Speed | None = None
    scores: Mapping[str, ModelScore] = field(default_factory=dict)
    context_tokens: int | None = None
    parameters: str | None = None

    @property
    def short(self) -> str:
        return self.name.partition("/")[2]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Every model that has runs or was registered. `sources` are those with scores, the most common first.

    `highest` has of each source the highest of the official scores in the usual group, where at least two models have
    one: whether it is better than the next is the leaderboard's to say. `without` counts models on record without runs.
    """

    models: Sequence[ModelLine]
    sources: Sequence[str]
    highest: Mapping[str, str]
    without: int


def catalogue(context: Context) -> Catalogue:
    """From what was kept when runs ended; kept in memory until another begins or ends."""
    make_good(context)
    found = Lately(context).kept(("models",), lambda: _with_runs(context))
    return _with_registered(context, found)


def _with_runs(context: Context) -> tuple[list[ModelLine], list[str], dict[str, str]]:
    totals = models.totals(context.store)
    scores = _usual(models.best(context.store))
    kept = models.summaries(context.store, [each.measured for each in totals if each.measured is not None])
    of: dict[str, dict[str, ModelScore]] = {}
    for score in scores:
        of.setdefault(score.full_model, {})[score.source] = score
    found = [
        _known(each, of.get(each.full_model, {}), _speed(kept.get(each.measured or 0))) for each in totals
    ]
    official = [score for score in scores if not score.sample]
    return found, _by_models(scores), _highest(official)


def _speed(summary: Mapping[str, object] | None) -> Speed | None:
    return None if summary is None else speed_of(summary)


def _known(of: ModelTotals, scores: Mapping[str, ModelScore], speed: Speed | None) -> ModelLine:
    return ModelLine(
        of.full_model,
        of.provider,
        of.runs,
        of.at_work,
        of.last_at,
        of.cost_usd,
        of.priced,
        1000 * of.cost_usd / of.priced_items if of.cost_usd is not None and of.priced_items else None,
        speed,
        scores,
    )


def _usual(scores: Sequence[ModelScore]) -> list[ModelScore]:
    """One score for each model and source: of the group that most models share, official before sample rows."""
    groups: dict[tuple[str, bool, str], list[ModelScore]] = {}
    for score in scores:
        groups.setdefault((score.source, score.sample, score.comparability), []).append(score)
    found: dict[tuple[str, str], ModelScore] = {}
    # Official groups first; within them the largest, then that with the newest run: as boards choose theirs.
    order = sorted(
        groups.items(),
        key=lambda each: (each[0][1], -len(each[1]), -max(one.finished_at for one in each[1])),
    )
    for _, group in order:
        for score in group:
            found.setdefault((score.full_model, score.source), score)
    return list(found.values())


def _by_models(scores: Iterable[ModelScore]) -> list[str]:
    """Sources by how many models have an official score of them, then by how many have any."""
    counted: dict[str, tuple[int, int]] = {}
    for score in scores:
        official, every = counted.get(score.source, (0, 0))
        counted[score.source] = (official + (not score.sample), every + 1)
    return sorted(counted, key=lambda source: (*(-count for count in counted[source]), source))


def _highest(official: Sequence[ModelScore]) -> dict[str, str]:
    """Source -> the model with the highest score of the group that most share; none where one model stands alone."""
    groups: dict[tuple[str, str], list[ModelScore]] = {}
    for score in official:
        if score.value is not None:
            groups.setdefault((score.source, score.comparability), []).append(score)
    found: dict[str, str] = {}
    for (source, _), group in sorted(groups.items(), key=lambda each: -len(each[1])):
        if len(group) > 1 and source not in found:
            found[source] = max(group, key=lambda score: score.value or 0.0).full_model
    return found


def _with_registered(context: Context, found: tuple[list[ModelLine], list[str], dict[str, str]]) -> Catalogue:
    """Beside the models that have runs those that are on record."""
    there = {each.name: each for each in found[0]}
    rows = {row.model_id: row for row in registry.rows(context.store)}
    without = [
        ModelLine(
            row.model_id,
            row.model_id.partition("/")[0],
            context_tokens=row.context_tokens,
            parameters=row.parameters,
        )
        for row in rows.values()
        if row.model_id not in there
    ]
    return Catalogue([*there.values(), *without], found[1], found[2], len(without))


# One model ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ModelRun:
    """A run of the model with what its kind calls its items, and its figures; None is not known."""

    row: ModelRunRow
    holds: Kind
    cost_usd: float | None
    speed: Speed | None
    errors: Mapping[str, int]

    @property
    def complete(self) -> bool:
        return (
            self.row.status == Status.COMPLETED
            and self.row.settled >= self.row.planned
            and not self.row.stopped
        )


@dataclass(frozen=True, slots=True)
class ExamLine:
    """A suite or file of the model's: its latest score of one group, and the scores before it, oldest first.

    `points` are of the very same exam, all items alike, so that one line may join them.
    """

    source: str
    latest: ModelRun
    points: Sequence[ModelRun]
    runs: int
    usual: bool


@dataclass(frozen=True, slots=True)
class ModelPage:
    """A model across all kinds, from its newest runs; `more` says that there are others before them.

    `settled` items and `failed` ones are of the runs that have ended; `errors` are the kinds of failures by slug.
    """

    name: str
    runs: Sequence[ModelRun]
    more: bool
    exams: Sequence[ExamLine]
    settled: int
    failed: int
    errors: Mapping[str, int]
    cost_usd: float | None
    priced: int
    cost_per_1000: float | None
    speed: Speed | None
    known: registry.ModelRow | None

    def of(self, holds: Kind) -> list[ModelRun]:
        """Its runs of a kind, newest first."""
        return [each for each in self.runs if each.holds == holds]


def model_page(context: Context, provider: str, model: str) -> ModelPage:
    make_good(context)
    rows = models.runs(context.store, provider, model, limit=NEWEST + 1)
    found = [_run(row) for row in rows[:NEWEST]]
    ended = [each for each in found if each.row.summary is not None]
    priced = [each for each in ended if each.cost_usd is not None]
    cost = sum(each.cost_usd or 0.0 for each in priced) if priced else None
    items = sum(each.row.settled for each in priced)
    return ModelPage(
        name=f"{provider}/{model}",
        runs=found,
        more=len(rows) > NEWEST,
        exams=_exams(found),
        settled=sum(each.row.settled for each in ended),
        failed=sum(sum(each.errors.values()) for each in ended),
        errors=_summed(each.errors for each in ended),
        cost_usd=cost,
        priced=len(priced),
        cost_per_1000=1000 * cost / items if cost is not None and items else None,
        speed=next((each.speed for each in ended if each.speed is not None), None),
        known=registry.row(context.store, f"{provider}/{model}"),
    )


def _run(row: ModelRunRow) -> ModelRun:
    tally = (row.summary or {}).get("tally", {})
    holds = kind_of(cell_from_json(row.cell).source).holds
    speed = speed_of(row.summary) if row.summary else None
    return ModelRun(row, holds, tally.get("cost_usd"), speed, tally.get("errors", {}))


def _summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in counts:
        for slug, items in each.items():
            found[slug] = found.get(slug, 0) + items
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def _exams(runs: Sequence[ModelRun]) -> list[ExamLine]:
    """Each source's groups, official before sample rows, the one with the newest run first."""
    groups: dict[tuple[str, bool, str | None], list[ModelRun]] = {}
    for each in runs:
        if each.row.comparability is not None and each.complete and each.row.value is not None:
            key = (each.row.source, each.row.sample, each.row.comparability)
            groups.setdefault(key, []).append(each)
    order = sorted(groups.items(), key=lambda each: (each[0][1], -(each[1][0].row.finished_at or 0.0)))
    seen: set[str] = set()
    found = []
    for (source, _, _), group in order:
        points = [each for each in group if each.row.exam == group[0].row.exam]
        found.append(ExamLine(source, group[0], points[::-1], len(group), source not in seen))
        seen.add(source)
    return sorted(found, key=lambda line: (line.latest.row.sample, line.source))


def sorted_by(sort: str, models_: Sequence[ModelLine]) -> list[ModelLine]:
    """By a column's name of SORTS, or `score:SOURCE`; what has no figure there comes last."""
    keys: Mapping[str, Callable[[ModelLine], float | None]] = {
        "runs": lambda each: -each.runs if each.runs else None,
        "speed": lambda each: -(each.speed.output_tokens_per_s or 0.0) if each.speed else None,
        "cost": lambda each: each.cost_per_1000,
        "last": lambda each: -each.last_at if each.last_at is not None else None,
    }
    head, _, source = sort.partition(":")

    def of_score(each: ModelLine) -> float | None:
        score = each.scores.get(source)
        return None if score is None or score.value is None else score.sample * 10.0 - score.value

    key = of_score if head == "score" else keys.get(head)
    if key is None:
        return sorted(models_, key=lambda each: (not each.runs, each.name))
    placed = [(key(each), each) for each in models_]
    return [
        each
        for value, each in sorted(placed, key=lambda pair: (pair[0] is None, pair[0] or 0.0, pair[1].name))
    ]
