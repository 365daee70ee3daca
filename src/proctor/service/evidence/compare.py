"""`proctor compare`: which runs a name means, what they show side by side, and the items on which they differ."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NotRequired, TypedDict, Unpack

from proctor.errors import ConfigError, NotFound
from proctor.findings import Comparison, Evaluation
from proctor.findings.heat import Heat
from proctor.service.checked.evaluated import as_checked
from proctor.service.context import Context, find
from proctor.service.evidence.evaluation import evaluation
from proctor.service.evidence.heat import of_comparison
from proctor.service.evidence.shared import shape_over
from proctor.service.evidence.standing import names_in
from proctor.service.looks.beforehand import chosen_beforehand
from proctor.service.looks.ledger import LookLedger
from proctor.service.looks.peeks import looked
from proctor.service.looks.pooled import Meant, PooledView
from proctor.service.results.answer_kinds import kept_as_they_are
from proctor.service.results.comparable import check_comparable
from proctor.service.results.results import Kept, scored_rows
from proctor.stats.compare import focused
from proctor.stats.descriptive.averages import mean_score
from proctor.store import AttemptRow, Store
from proctor.store.core.runs import MIN_PREFIX
from proctor.types import Outcome, Run, Status

SHOWN_ITEMS = 10


@dataclass(frozen=True, slots=True)
class Differing:
    """An item that one run of a pair scored higher on than the other.

    `answers`, `outcomes` and `scores` are by run id; where an item was asked several times, `scores` is
    the mean and the others are those of the first asking.
    """

    item_id: str
    task: str
    target: str | None
    answers: Mapping[str, str | None]
    outcomes: Mapping[str, str]
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Gate:
    """Whether a run lost more than `most` against the first run of the request.

    `loss` is first minus other; it fails only if the whole 95 % interval of the loss lies above `most`.
    """

    model: str
    run_id: str
    most: float
    loss: float
    low: float
    high: float

    @property
    def failed(self) -> bool:
        return self.low > self.most


@dataclass(frozen=True, slots=True)
class Compared:
    """Runs side by side. `differing` has, for each comparison, the items that differ, the first of them only.

    `heat` has tasks by runs, where it was asked for.
    """

    evaluation: Evaluation
    differing: tuple[tuple[Differing, ...], ...]
    heat: Heat | None = None


class Comparing(TypedDict):
    """How runs are compared, see `compared`; every key has a default."""

    source: NotRequired[str | None]
    margin: NotRequired[float | None]
    metric: NotRequired[str]
    items: NotRequired[int]
    grader: NotRequired[str | None]
    only: NotRequired[bool]
    task: NotRequired[str]
    heat: NotRequired[bool]


# The many words of a request are typed keywords of one record: named at the call, checked by mypy.
def compared(context: Context, names: Sequence[str], **how: Unpack[Comparing]) -> Compared:
    """Compare runs or models, given by run ids, plan ids or models' names.

    For a model, it is the mean of its complete runs of an exam that the others have taken too; where there is none,
    its largest that they can be compared with on shared items. `source` narrows that to one suite or file.
    `metric` is what the headline compares and `margin` how close is practically equal, see `evaluation`. `grader` takes
    the grades that it gave to the runs' kept replies in place of their first ones. `only`: these models were chosen
    before anything was seen, and no others count. `task` narrows the items that differ to one task's; with `heat` the
    scores task by task are added.

    Raises: NotFound for a name that is neither; ConfigError if a name fits several models, or if the
    runs differ in how they were asked or share no item.
    """
    margin, metric, grader = how.get("margin"), how.get("metric", "score"), how.get("grader")
    if margin is not None and margin < 0:
        raise ConfigError(f"margin {margin}: two scores cannot be less than 0 apart; give 0 or more")
    named = meant(context, names, source=how.get("source"))
    runs = [each.run for each in named]
    if grader is None and all(map(kept_as_they_are, runs)):
        ids = " ".join(run.id[:8] for run in runs)
        raise ConfigError(
            f"These runs have no scores, since no right answers were given: `proctor batch compare {ids}` compares "
            "what was replied"
        )
    view = PooledView.of(context.store, named, grader)
    only = how.get("only", False) or chosen_beforehand(context.store, runs)
    ledger = LookLedger(context.store, only, grader, view.pools)
    found = evaluation(
        view,
        [view.shown(run) for run in runs],
        margin=margin,
        metric=metric,
        ledger=ledger,
    )
    found = as_checked(context, found, grader)
    looked(context, runs)
    task = how.get("task")
    tasks = [task] if task else counted([result.run for result in found.results], metric)
    differ = tuple(differing(view, pair, tasks, how.get("items", SHOWN_ITEMS)) for pair in found.comparisons)
    table = of_comparison(view, found, names_in(found), metric) if how.get("heat") else None
    return Compared(found, differ, table)


def gates(compared: Compared, most: float) -> list[Gate]:
    """One gate for each run after the first. Raises ConfigError where a loss could not be measured."""
    found = []
    for pair in compared.evaluation.comparisons:
        if pair.first.id != compared.evaluation.results[0].run.id:
            continue
        loss = pair.whole.estimate
        if loss.value is None or loss.low is None or loss.high is None:
            raise ConfigError(
                f"The loss of {pair.second.cell.model} could not be measured: {loss.reason or 'no interval'}"
            )
        found.append(Gate(str(pair.second.cell.model), pair.second.id, most, loss.value, loss.low, loss.high))
    return found


# Which runs are meant ----------------------------------------------------------------------------


def chosen(context: Context, names: Sequence[str], *, source: str | None = None) -> list[Run]:
    """The runs that names mean, in their order; at least two of them. See `compared`."""
    return [each.run for each in meant(context, names, source=source)]


def meant(context: Context, names: Sequence[str], *, source: str | None = None) -> list[Meant]:
    """The same, each with the runs that make its score: of a model all its complete ones of the chosen one's cell."""
    by_name = [_candidates(context.store, name, source) for name in names]
    ids = frozenset(run.id for runs, fixed in by_name if fixed for run in runs)
    every = all(fixed for _, fixed in by_name)
    alike = _alike([runs for runs, _ in by_name], [fixed for _, fixed in by_name]) if not every else None
    found: dict[str, Meant] = {}
    for runs, fixed in by_name:
        if fixed or alike is None:
            of = [Meant.by_id(run) for run in runs]
        else:
            of = [Meant.by_name(_largest(filter(alike, runs)), context.store).without(ids)]
        for each in of:
            found.setdefault(each.run.id, each)
    if len(found) < 2:
        raise ConfigError(
            "A comparison needs two different runs: name two runs, two models, or a plan of several"
        )
    return list(found.values())


def _largest(runs: Iterable[Run]) -> Run:
    """The run with most items, the newest of several: they come newest first."""
    return max(runs, key=lambda run: run.planned)


def _candidates(store: Store, name: str, source: str | None) -> tuple[list[Run], bool]:
    """The runs that a name may mean, newest first, and whether it means all of them (ids) or one (a model)."""
    if len(name) >= MIN_PREFIX and set(name.lower()) <= set("0123456789abcdef-"):
        try:
            return find(store, name), True
        except NotFound:
            pass  # a model may be called "gemma" or "3"
    runs = store.runs(limit=None, model=name, source=source, status=Status.COMPLETED)
    models = dict.fromkeys(str(run.cell.model) for run in runs)
    if len(models) > 1:
        raise ConfigError(f"{name} is the name of several models: {', '.join(models)}. Give one of these")
    whole = [run for run in runs if not run.partial and not run.stopped]
    # Where there is none, one that was asked side by side with others and stopped as their verdict was sure.
    runs = whole or [run for run in runs if run.cell.limits.until_decided and run.settled]
    runs = [run for run in runs if run.comparability is not None] or runs  # of those that can have scores
    if not runs:
        where = f" on {source}" if source else ""
        begun = store.runs(limit=1, model=name, source=source)
        cure = f": `proctor resume {begun[0].id[:8]}` goes on with its latest" if begun else ""
        raise NotFound(f"{name} is no run, and no model with a complete run{where}{cure}")
    return runs, False


def _alike(meant: Sequence[Sequence[Run]], fixed: Sequence[bool]) -> Callable[[Run], bool]:
    """Which of a model's runs to take: one of an exam that all have a run of; else one that shares items with theirs.

    Of several such exams that with most runs counts, then the newest. Sample rows, which measure nothing real, only
    where there is nothing else. Raises ConfigError saying what differs where there is none.
    """
    real = [[run for run in runs if not run.sample] for runs in meant]
    for pool, key_of in product((real, meant), (_exam_of, _comparability_of)):
        keys = [{key_of(run) for run in runs} for runs in pool]
        if common := set.intersection(*keys):
            key = _usual([run for runs in pool for run in runs if key_of(run) in common], key_of)
            return lambda run, of=key_of, wanted=key: of(run) == wanted  # type: ignore[misc]  # bound now
    check_comparable(
        [run for runs, ids in zip(meant, fixed, strict=True) for run in (runs if ids else runs[:1])]
    )
    raise ConfigError("These models have no complete runs that were asked the same things in the same way")


def _exam_of(run: Run) -> str | None:
    return run.exam


def _comparability_of(run: Run) -> str | None:
    return run.comparability


def _usual(runs: Sequence[Run], key_of: Callable[[Run], str | None]) -> str | None:
    groups: dict[str | None, list[Run]] = {}
    for run in runs:
        groups.setdefault(key_of(run), []).append(run)

    def order(key: str | None) -> tuple[int, float]:
        return len(groups[key]), max(run.created_at for run in groups[key])

    return max(groups, key=order)


# The items that differ ---------------------------------------------------------------------------


def counted(runs: Sequence[Run], metric: str) -> Container[str]:
    """The tasks that the headline is made of: a difference's counts are of their items, and so is the list."""
    tasks = focused(shape_over(runs), metric).tasks
    return [key for key, spec in tasks.items() if not spec.extra] or tasks


def differing(
    store: Kept, pair: Comparison, tasks: Container[str], most: int, *, lost: bool = False
) -> tuple[Differing, ...]:
    """The first `most` items of `tasks`, in the order of asking, on which one run scored higher than the other.

    With `lost` only those on which the second scored lower.
    """
    if most < 1:
        return ()
    sides = {run.id: _askings(store, run) for run in (pair.first, pair.second)}
    first, second = sides[pair.first.id], sides[pair.second.id]
    found = []
    for key in first:
        if key not in second or first[key][0].task not in tasks:
            continue
        scores = {ident: mean_score([row.score for row in rows[key]]) for ident, rows in sides.items()}
        before, now = scores[pair.first.id], scores[pair.second.id]
        if before == now or (lost and now > before):
            continue
        row = first[key][0]
        found.append(
            Differing(
                item_id=row.item_id,
                task=row.task,
                target=row.target,
                answers={ident: rows[key][0].answer for ident, rows in sides.items()},
                outcomes={ident: rows[key][0].outcome.value for ident, rows in sides.items()},
                scores=scores,
            )
        )
        if len(found) == most:
            break
    return tuple(found)


def _askings(store: Kept, run: Run) -> dict[tuple[str, str], list[AttemptRow]]:
    askings: dict[tuple[str, str], list[AttemptRow]] = {}
    for row in scored_rows(store, run):
        if row.outcome is not Outcome.ERROR and row.score is not None:
            askings.setdefault((row.item_id, row.item_hash), []).append(row)
    return askings
