"""The tables of a comparison: every pair, what it rests on, and the tasks of the pairs that matter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from proctor.figures import (
    MOST_ITEMS,
    amount,
    estimate,
    fraction,
    metric_words,
    p_value,
    path_said,
    rounded,
    steps,
)
from proctor.findings import Comparison, Difference, Estimate, Evaluation
from proctor.findings.looks import Path, PathEnd
from proctor.report.blocks import PairWalked, Table
from proctor.report.words import capital, labels, unique

NONE = "-"
MOST_DRAWN = 6  # walks
ENDS: Mapping[PathEnd, str] = {
    "open": "not yet",
    "decided": "decided",
    "futile": "hardly to be decided",
    "whole": "all items asked",
}
MCNEMAR = "exact McNemar"  # the test of rights and wrongs; under it "did better" means "alone got it right"

# Two columns of one figure: the value (or why there is none), and its interval.
Pair = tuple[str, str]
Column = Callable[[Comparison, Difference], str]


def value_and_interval(e: Estimate) -> Pair:
    if e.value is None or e.low is None or e.high is None:
        return (estimate(e) if e.value is None else fraction(e.value)), NONE
    return fraction(e.value), f"[{fraction(e.low)}, {fraction(e.high)}]"


def comparisons(evaluation: Evaluation) -> Iterator[Table]:
    """The pairs with their verdicts, what each verdict rests on, and the tasks of the best against the others."""
    if not evaluation.comparisons:
        return
    yield _verdicts(evaluation)
    yield _grounds(evaluation)
    if any(c.whole.path for c in evaluation.comparisons):
        yield _paths(evaluation)
    for c in with_the_best(evaluation):
        if c.tasks:
            yield _tasks(c, labels(evaluation))


def _verdicts(evaluation: Evaluation) -> Table:
    names = labels(evaluation)
    metrics = unique(c.whole.metric for c in evaluation.comparisons)
    heads = (
        "Pair, first and second",
        *(["Metric"] if len(metrics) > 1 else []),
        "First",
        "Second",
        "First minus second",
        "95 % interval",
        "p",
        "p adjusted",
        "Verdict",
    )
    rows = tuple(
        (
            _pair(c, names),
            *([c.whole.metric] if len(metrics) > 1 else []),
            fraction(c.whole.first),
            fraction(c.whole.second),
            *value_and_interval(c.whole.estimate),
            p(c.whole.p_value),
            p(c.whole.adjusted_p),
            verdict(c.whole, c, names),
        )
        for c in evaluation.comparisons
    )
    by = f" by {metric_words(metrics[0])}" if len(metrics) == 1 else ""
    caption = f"Every pair of models{by}, on the items both have scored"
    return Table(caption, heads, rows, frozenset(range(len(heads) - 7, len(heads) - 1)))


def _grounds(evaluation: Evaluation) -> Table:
    """Counts, test, and how small a difference such items can show."""
    names = labels(evaluation)
    columns: dict[str, Column] = {
        "Shared items": lambda c, d: amount(d.shared),
        "Both right": lambda c, d: amount(d.both_right),
        **_counts([c.whole for c in evaluation.comparisons]),
        "Test": lambda c, d: d.test if d.p_value is not None else NONE,
        "Correlation": lambda c, d: fraction(d.correlation),
        "Smallest difference to be shown": lambda c, d: fraction(d.detectable),
        "Items needed": lambda c, d: needed(d.items_needed),
    }
    rows = tuple(
        (_pair(c, names), *(column(c, c.whole) for column in columns.values()))
        for c in evaluation.comparisons
    )
    heads = ("Pair, first and second", *columns)
    figures = frozenset(place for place, head in enumerate(heads) if place and head != "Test")
    return Table("What each verdict rests on", heads, rows, figures)


def _paths(evaluation: Evaluation) -> Table:
    """Where each pair's walk came to, of those that were tested by their path."""
    names = labels(evaluation)
    rows = tuple(
        (
            _pair(c, names),
            amount(path.of),
            amount(path.items),
            amount(len(path.points)),
            steps(path.points[-1].walk) if path.points else NONE,
            bound(path),
            p(path.p_value),
            ENDS[path.ended],
        )
        for c in evaluation.comparisons
        if (path := c.whole.path) is not None
    )
    heads = (
        "Pair, first and second",
        "Items planned",
        "Answered by both",
        "Looks",
        "First ahead by",
        "Needed to decide",
        "p of the path",
        "Ended",
    )
    return Table(
        "How far each pair's walk had come when it was last looked at", heads, rows, frozenset(range(1, 7))
    )


def bound(path: Path) -> str:
    """How far from 0 the walk had to be at its last look."""
    last = path.points[-1].boundary if path.points else None
    return "nothing could" if last is None else steps(last)


def walks(evaluation: Evaluation) -> Iterator[PairWalked]:
    """The walks of the first of the pairs that were tested by their path; of all of them the table tells."""
    names = labels(evaluation)
    tested = [(c, c.whole.path) for c in evaluation.comparisons if c.whole.path and c.whole.path.points]
    for c, path in tested[:MOST_DRAWN]:
        first, second = called(c.first.id, c, names), called(c.second.id, c, names)
        points = tuple((point.items, point.walk, point.boundary) for point in path.points)
        said = f"{first} and {second}: {path_said(first, second, path)}"
        yield PairWalked(first, second, said, path.of, points)


def _counts(shown: Sequence[Difference]) -> dict[str, Column]:
    """The discordant items under heads that are true of all that is shown."""
    words = "Only {} right" if all(d.test == MCNEMAR for d in shown) else "{} did better"
    first, second = (capital(words.format(side)) for side in ("first", "second"))
    return {
        first: lambda c, d: amount(d.only_first),
        second: lambda c, d: amount(d.only_second),
    }


def with_the_best(evaluation: Evaluation) -> list[Comparison]:
    """The only pair; of several, those of the run with the highest score on shared items (of all such, at a tie)."""
    if len(evaluation.comparisons) < 2:
        return list(evaluation.comparisons)
    scores = evaluation.compared or [result.scores[0] for result in evaluation.results]
    values = {r.run.id: s.estimate.value for r, s in zip(evaluation.results, scores, strict=True)}
    known = [value for value in values.values() if value is not None]
    best = {ident for ident, value in values.items() if known and value == max(known)}
    return [c for c in evaluation.comparisons if {c.first.id, c.second.id} & best]


def _tasks(c: Comparison, names: Mapping[str, str]) -> Table:
    first, second = (called(run_id, c, names) for run_id in (c.first.id, c.second.id))
    counts = _counts(c.tasks)
    heads = (
        "Task",
        "Metric",
        "First",
        "Second",
        "First minus second",
        "95 % interval",
        "Shared items",
        *counts,
        "p",
        "p adjusted",
        "Verdict",
    )
    rows = tuple(
        (
            d.title,
            d.metric,
            fraction(d.first),
            fraction(d.second),
            *value_and_interval(d.estimate),
            amount(d.shared),
            *(count(c, d) for count in counts.values()),
            p(d.p_value),
            p(d.adjusted_p),
            verdict(d, c, names),
        )
        for d in c.tasks
    )
    caption = f"Task by task, to show where to look: {first} (first) and {second} (second)"
    return Table(caption, heads, rows, frozenset(range(2, len(heads) - 1)))


def called(run_id: str, c: Comparison, names: Mapping[str, str]) -> str:
    of = c.first if run_id == c.first.id else c.second
    return names.get(run_id, str(of.cell.model))


def _pair(c: Comparison, names: Mapping[str, str]) -> str:
    return f"{called(c.first.id, c, names)} and {called(c.second.id, c, names)}"


def verdict(d: Difference, c: Comparison, names: Mapping[str, str]) -> str:
    """The verdict with the name of the better one; no name where neither is."""
    better = {"first better": c.first.id, "second better": c.second.id}
    return f"{called(better[d.verdict], c, names)} better" if d.verdict in better else d.verdict


def needed(n: int | None) -> str:
    """About how many items: two digits, upwards, since more would claim a precision that a forecast lacks.

    >>> needed(11_601), needed(180), needed(7), needed(2_000_000), needed(None)
    ('about 12,000', 'about 180', 'about 7', 'more than 1,000,000', '-')
    """
    if n is None:
        return NONE
    if n > MOST_ITEMS:
        return f"more than {amount(MOST_ITEMS)}"
    return f"about {amount(rounded(n))}"


def p(value: float | None) -> str:
    """A p-value for a column headed "p".

    >>> p(0.00001), p(0.031), p(1.0), p(None)
    ('< 0.0001', '0.031', '1', '-')
    """
    return NONE if value is None else p_value(value).removeprefix("p ").removeprefix("= ")
