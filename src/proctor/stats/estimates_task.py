"""One task of one run: the value of each metric, its interval, and draws of what it could have been."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proctor.errors import ConfigError
from proctor.findings import METRIC_VERSIONS, OF_LABELS, SIGNED, Estimate
from proctor.stats import metrics, resample
from proctor.stats.estimates_share import effective, graded, mean, np_scores, share, unit_stderr, value_of
from proctor.stats.estimates_sheet import Sheet, TaskShape, nothing, part, sheet
from proctor.stats.intervals import Z95
from proctor.stats.metrics import Scored
from proctor.stats.resample import Figure

if TYPE_CHECKING:
    import numpy as np

    from proctor.stats.metrics import Array

DIRICHLET = f"Dirichlet(counts + 1/2) on the table of answers, {resample.SAID}"
DIRICHLET_MANY = f"Dirichlet(counts + one item in all) on the table of answers, {resample.SAID}"
BOOTSTRAP = f"bootstrap of items, {resample.SAID}"
CLUSTERED = f"bootstrap of clusters, {resample.SAID}"
CORRELATED = f"bootstrap of items or Fisher's z, the wider of both, {resample.SAID}"
UNRELATED = f"Fisher's z of unrelated pairs, {resample.SAID}"


def labels(one: Sheet, spec: TaskShape) -> tuple[str, ...]:
    return spec.labels or tuple(sorted({row.target for row in one.rows if row.target is not None}))


def on_table(spec: TaskShape, metric: str, names: Sequence[str]) -> Callable[[Array], Array]:
    """The metric as a function of the table of answers. Raises ConfigError if F1 lacks its label."""
    if metric == "f1" and spec.positive not in names:
        raise ConfigError(
            f"Task {spec.title!r}: f1 needs a positive label, which is {spec.positive!r}; "
            f"labels: {', '.join(names)}"
        )
    if metric == "f1":
        place = names.index(spec.positive or "")
        return lambda table: metrics.f1(table, place)
    return {"accuracy": metrics.accuracy, "macro_f1": metrics.macro_f1, "mcc": metrics.mcc}[metric]


def _tabled(one: Sheet, spec: TaskShape, metric: str) -> Figure:
    import numpy as np

    names = labels(one, spec)
    k = len(names)
    rows, columns = metrics.cells(_targets(one), [row.answer for row in one.rows], names)
    cell = np.array(rows) * (k + 1) + np.array(columns)
    member = np.zeros((len(rows), k * (k + 1)))
    member[np.arange(len(rows)), cell] = 1.0
    of_table = on_table(spec, metric, names)
    asked = (one.weight @ member).reshape(k, k + 1).sum(axis=1) / one.units  # of an average unit
    right = np.hstack([np.diag(asked), np.zeros((k, 1))])
    wrong = np.hstack([(1 - np.eye(k)) * asked[:, None] / max(1, k - 1), np.zeros((k, 1))])

    def figure(weights: Array, more: Array, less: Array) -> Array:
        table = (weights @ member).reshape(*weights.shape[:-1], k, k + 1)
        return of_table(table + more[..., None, None] * right + less[..., None, None] * wrong)

    return figure


def _chosen(one: Sheet, spec: TaskShape, metric: str) -> Figure:
    import numpy as np

    counts = np.array(
        [
            metrics.marks(t, row.answer, row.candidates)
            for t, row in zip(_targets(one), one.rows, strict=True)
        ],
        dtype=np.float64,
    )
    # What an average unit has to choose from; 1 where nothing is right, so that a draw can still differ.
    whole = one.weight @ (counts[:, 0] + counts[:, 2]) / one.units or 1.0

    def figure(weights: Array, right: Array, wrong: Array) -> Array:
        chosen, extra, missed = (weights @ counts[:, i] for i in range(3))
        return metrics.f1a(chosen + right * whole, extra, missed + wrong * whole)

    return figure


def numbers(one: Sheet) -> tuple[Array, Array, int]:
    """Targets, predictions, and how many predictions are missing: those are the mean of the others."""
    import numpy as np

    said = np.array([_number(row) for row in one.rows])
    missing = np.isnan(said)
    if not missing.all():
        seen = ~missing
        said[missing] = (said[seen] * one.weight[seen]).sum() / one.weight[seen].sum()
    else:
        said[:] = 0.0
    return np.array([float(target) for target in _targets(one)]), said, int(missing.sum())


def _number(row: Scored) -> float:
    try:
        value = float(row.answer) if row.answer is not None else math.nan
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def _correlated(one: Sheet, spec: TaskShape, metric: str) -> Figure:
    targets, said, _ = numbers(one)
    of_pairs = {"pearson": metrics.pearson, "spearman": metrics.spearman}[metric]

    def figure(weights: Array, right: Array, wrong: Array) -> Array:
        # The added units are unrelated pairs that vary as much as the others: no covariance, the same spread.
        return of_pairs(targets, said, weights) * (one.units / (one.units + right + wrong))

    return figure


def _targets(one: Sheet) -> list[str]:
    return [row.target for row in one.rows if row.target is not None]


# Which metrics are plain means, and how the others are built.
SHARES = frozenset({"accuracy", "accuracy_m", "accuracy_mm", "em", "gender_parity", "success_rate"})
FIGURES: Mapping[str, Callable[[Sheet, TaskShape, str], Figure]] = {
    "accuracy": mean,
    "em": mean,
    "mean": mean,
    "success_rate": mean,
    "mean_score": mean,
    **dict.fromkeys(OF_LABELS, _tabled),
    "f1a": _chosen,
    "pearson": _correlated,
    "spearman": _correlated,
}
TABLED = frozenset(OF_LABELS)
PARTIAL = SHARES - {"accuracy", "em", "success_rate"}  # about some of the rows, or pairs of them
MEANS = frozenset(
    {"mean", "mean_score"}
)  # of scores between right and wrong; those of "mean" may have any scale
CORRELATIONS = frozenset({"pearson", "spearman"})
WORDS = frozenset({"entity", "text"})  # kinds whose f1 is SQuAD's, over words


def is_graded(spec: TaskShape, metric: str) -> bool:
    """True for a mean of scores that lie between right and wrong."""
    return metric in MEANS or (metric == "f1" and spec.kind in WORDS)


def figure_of(one: Sheet, spec: TaskShape, metric: str) -> Figure:
    """Raises ConfigError for a metric that does not exist."""
    if is_graded(spec, metric):
        return mean(one, spec, metric)
    if metric not in FIGURES:
        raise ConfigError(f"Task {spec.title!r}: no metric {metric!r}; known: {', '.join(METRIC_VERSIONS)}")
    return FIGURES[metric](one, spec, metric)


# The exam ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TaskSheet:
    """A task's rows in one run, ready to be asked for its figures."""

    key: str
    spec: TaskShape
    rows: tuple[Scored, ...]
    sheet: Sheet
    worded: bool


def exam(key: str, rows: Iterable[Scored], spec: TaskShape, *, worded: bool = True) -> TaskSheet:
    kept = tuple(rows)
    return TaskSheet(key, spec, kept, sheet(kept, spec, worded=worded), worded)


def value(of: TaskSheet, metric: str) -> float | None:
    """The exam's figure; None where nothing was measured or a correlation has no meaning."""
    one = part(of.rows, metric, of.spec, worded=of.worded) if metric in PARTIAL else of.sheet
    if not one.items or (metric in CORRELATIONS and _unanswerable(one)):
        return None
    figure = mean(one, of.spec, metric) if metric in SHARES else figure_of(one, of.spec, metric)
    return value_of(figure, one)


def ends(of: TaskSheet, metric: str) -> tuple[float, float]:
    """The least and the greatest that a metric can be; infinite for scores whose scale nobody told."""
    if metric in SIGNED:
        return -1.0, 1.0
    if metric != "mean":
        return 0.0, 1.0
    score = np_scores(of.sheet, of.spec, metric)
    bounded = bool((score >= 0).all() and (score <= 1).all())
    return (0.0, 1.0) if bounded else (-math.inf, math.inf)


def most_stderr(metric: str) -> float:
    """The largest that the standard error of a mean can be: half the metric's range.

    Popoviciu's inequality (1935) for the variance of a bounded quantity.

    >>> most_stderr("mcc"), most_stderr("accuracy")
    (1.0, 0.5)
    """
    return 1.0 if metric in SIGNED else 0.5


def own_value(of: TaskSheet) -> float | None:
    """The task's own score: the mean of its official metrics."""
    values = [value(of, metric) for metric in of.spec.official]
    known = [v for v in values if v is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(values) else None


def _unanswerable(one: Sheet) -> bool:
    return len(set(map(float, _targets(one)))) < 2


def draws(of: TaskSheet) -> dict[str, Array]:
    """Draws of every metric, those of one exam together.

    Metrics on the table of answers are drawn from it where no rows hang together (the bootstrap covers far
    too little in small or extreme exams), the others by the bootstrap; where there are shares alone, each
    from the Beta distribution of its effective n.
    """
    one, spec = of.sheet, of.spec
    if not one.items:
        return {}
    random = resample.stream(of.key)
    every = dict.fromkeys((*spec.official, *spec.also))
    joint = _joint(spec)
    beside = [metric for metric in every if metric in SHARES - PARTIAL and joint]
    if joint and _from_table(one, spec):
        found = _table_draws(random, one, spec, [*joint, *beside])
    elif joint:
        figures = [figure_of(one, spec, metric) for metric in (*joint, *beside)]
        drawn = resample.bootstrap(random, figures, one.unit, one.weight)
        found = dict(zip((*joint, *beside), drawn, strict=True))
    else:
        found = {}
    if CORRELATIONS & found.keys() and _silent(one):
        found |= dict.fromkeys(CORRELATIONS & found.keys(), resample.unrelated(random, one.units))
    for metric in MEANS & every.keys():
        found[metric] = _mean_draws(random, one, spec)
    for metric in every:
        if metric not in found:
            found.update(_share_draws(random, of, metric))
    return found


def _mean_draws(random: np.random.Generator, one: Sheet, spec: TaskShape) -> Array:
    """Draws of a mean of scores in whatever range, as Student's t says it could have been."""
    score = np_scores(one, spec, "mean")
    value = value_of(mean(one, spec, "mean"), one)
    stderr = unit_stderr(one, score, value) or 0.0
    return value + stderr * random.standard_t(max(1, one.units - 1), size=resample.DRAWS)


def _joint(spec: TaskShape) -> list[str]:
    """The metrics that are drawn together."""
    every = dict.fromkeys((*spec.official, *spec.also))
    return [metric for metric in every if metric not in SHARES | MEANS]


def _from_table(one: Sheet, spec: TaskShape) -> bool:
    return not one.clustered and spec.kind not in WORDS and TABLED.issuperset(_joint(spec))


def added(table: Array) -> Array:
    """What is added to each cell of a table before it is drawn.

    With two labels half an item, which covers 91 to 96 % where the bootstrap covers 62.
    With more labels that would be too much: 4.5 wrong answers added to the nine cells of an exam of 56
    items cover 62 %. There one item is added in all, half of it right, as in the interval of a share;
    tests/stats/test_stats_resample.py shows what that covers.
    """
    import numpy as np

    k = len(table)
    if k == 2:
        return np.where(np.arange(3) < 2, 0.5, 0.0) + np.zeros((2, 1))
    wrong = 1 - np.eye(k, k + 1)
    if not table[:, -1].any():
        wrong[:, -1] = 0.0  # every answer was read: the column of the unread is no part of this exam
    found: Array = np.eye(k, k + 1) * 0.5 / k + wrong * 0.5 / max(1.0, wrong.sum())
    return found


def _table(one: Sheet, names: Sequence[str]) -> Array:
    answers = [row.answer for row in one.rows]
    return metrics.confusion(_targets(one), answers, names, one.weight.tolist()) / one.scale


def _table_draws(
    random: np.random.Generator, one: Sheet, spec: TaskShape, wanted: Sequence[str]
) -> dict[str, Array]:
    names = labels(one, spec)
    table = _table(one, names)
    tables = resample.dirichlet(random, table, added(table))
    return {metric: on_table(spec, metric, names)(tables) for metric in wanted}


def _outer(of: TaskSheet, metric: str, value: float) -> tuple[float, float]:
    """The ends of an interval from draws with less added to the wrong answers (two labels) or more (several).

    What is added decides where few answers are wrong: too much, and the interval ends below a nearly perfect
    model; too little, and it ends above a lesser one. The wider of both covers where each alone has 83 % (20
    items, ability 0.99), and is 3 % wider elsewhere.
    """
    import numpy as np

    names = labels(of.sheet, of.spec)
    table = _table(of.sheet, names)
    usual = added(table)
    diagonal = np.eye(*table.shape)
    other = usual * (0.5 * diagonal + 0.25 * (1 - diagonal) if len(names) == 2 else 2.0 - diagonal)
    tables = resample.dirichlet(resample.stream(f"{of.key} outer"), table, other)
    _, low, high = resample.spread(on_table(of.spec, metric, names)(tables), value)
    return low, high


def _share_draws(random: np.random.Generator, of: TaskSheet, metric: str) -> dict[str, Array]:
    one = part(of.rows, metric, of.spec, worded=of.worded) if metric in PARTIAL else of.sheet
    if not one.items:
        return {}
    n, _ = effective(one, of.spec, metric)
    return {metric: resample.beta(random, value_of(mean(one, of.spec, metric), one), n)}


def _silent(one: Sheet) -> bool:
    """True when all predictions are the same number, or there are none."""
    return len(set(numbers(one)[1].tolist())) < 2


def own_draws(of: TaskSheet, drawn: Mapping[str, Array]) -> Array | None:
    """Draws of the task's own score, if all of its official metrics could be drawn."""
    if own_value(of) is None or not drawn.keys() >= set(of.spec.official):
        return None
    found = [drawn[metric] for metric in of.spec.official]
    total: Array = sum(found[1:], start=found[0]) / len(found)
    return total


def estimate(of: TaskSheet, metric: str, drawn: Mapping[str, Array]) -> Estimate:
    """A metric with its interval: Wilson's for shares, percentiles of the draws for the others."""
    one = of.sheet
    if metric in SHARES:
        if metric in PARTIAL:
            one = part(of.rows, metric, of.spec, worded=of.worded)
        return share(one, of.spec, metric)
    if is_graded(of.spec, metric):
        return graded(one, of.spec, metric)
    if not one.items:
        return nothing(one.asked, one.reason)
    measured = value(of, metric)
    if measured is None:
        return nothing(one.asked, "all targets are the same number: nothing to correlate with")
    stderr, low, high = resample.spread(drawn[metric], measured)
    if metric in CORRELATIONS and not one.clustered and one.items > 3:
        least, most = fisher(measured, one.items, ranks=metric == "spearman")
        low, high = min(low, least), max(high, most)
    if _from_table(one, of.spec):
        least, most = _outer(of, metric, measured)
        low, high = min(low, least), max(high, most)
    return Estimate(measured, stderr, low, high, one.items, one.asked, _method(of, metric))


def fisher(value: float, n: int, *, ranks: bool) -> tuple[float, float]:
    """The interval of a correlation of n > 3 pairs by Fisher's transformation (Fisher 1915, Biometrika 10:507).

    For rank correlations the variance of Bonett and Wright (2000, Psychometrika 65:23).
    """
    centre = math.atanh(max(-1 + 1e-12, min(1 - 1e-12, value)))
    half = Z95 * math.sqrt((1 + value**2 / 2 if ranks else 1.0) / (n - 3))
    return math.tanh(centre - half), math.tanh(centre + half)


def _method(of: TaskSheet, metric: str) -> str:
    one = of.sheet
    if _from_table(one, of.spec):
        return DIRICHLET if len(labels(one, of.spec)) == 2 else DIRICHLET_MANY
    if metric not in CORRELATIONS:
        return CLUSTERED if one.clustered else BOOTSTRAP
    plain = CORRELATED if one.items > 3 else BOOTSTRAP
    drawn = UNRELATED if _silent(one) else CLUSTERED if one.clustered else plain
    missing = numbers(one)[2]
    if not missing:
        return drawn
    return (
        f"{drawn}; {missing:,} of {len(one.rows):,} replies without a number count as the mean of the others"
    )
