"""Who stands where in a comparison: the best, those it is not shown to beat, and what may be recommended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proctor.findings import Comparison, Evaluation, RunResult
from proctor.service.evidence.evaluation import downwards
from proctor.service.evidence.evaluation import values as compared_values


@dataclass(frozen=True, slots=True)
class Standing:
    """`names` and `values` are by run id; `tied` are the names of the best and of all that it is not shown to beat.

    `gap` is the best minus the worst, `gap_to_runner_up` the best minus the second, in the metric that is compared:
    the differences of these pairs; None where one was not measured. `adjusted_p` is that of the best against the
    runner-up, and `shown` whether it is a difference.
    """

    names: Mapping[str, str]
    values: Mapping[str, float | None]
    best: str
    tied: Sequence[str]
    gap: float | None
    gap_to_runner_up: float | None
    adjusted_p: float | None
    shown: bool
    recommendations: Sequence[str]


def standing(of: Evaluation, metric: str) -> Standing:
    """Of an evaluation of at least two runs, compared by `metric`."""
    names, values = names_in(of), compared_values(of)
    ranked = sorted(of.results, key=lambda result: downwards(values.get(result.run.id)))
    best, runner_up, worst = ranked[0].run.id, ranked[1].run.id, ranked[-1].run.id
    pair = _pair(of, best, runner_up)
    tied = [names[r.run.id] for r in ranked if r.run.id == best or not _beats(of, best, r.run.id)]
    return Standing(
        names=names,
        values=values,
        best=best,
        tied=tied,
        gap=_gap(of, best, worst),
        gap_to_runner_up=_gap(of, best, runner_up),
        adjusted_p=pair.whole.adjusted_p,
        shown="better" in pair.verdict,
        recommendations=_recommendations(names[best], tied, metric),
    )


def _gap(of: Evaluation, best: str, other: str) -> float | None:
    """How far the best lies before another: the difference of their pair, which is what is tested and told."""
    pair = _pair(of, best, other)
    value = pair.whole.estimate.value
    return value if value is None or pair.first.id == best else -value


def _pair(of: Evaluation, one: str, other: str) -> Comparison:
    return next(c for c in of.comparisons if {c.first.id, c.second.id} == {one, other})


def names_in(of: Evaluation) -> dict[str, str]:
    """The model's name; with its provider or run where that is needed to tell two apart."""
    return names_of(of.results)


def names_of(results: Sequence[RunResult]) -> dict[str, str]:
    """By run id."""
    plain = [result.run.cell.model.name for result in results]
    full = [str(result.run.cell.model) for result in results]
    found = {}
    for result, name, whole in zip(results, plain, full, strict=True):
        alike = full.count(whole) > 1
        told = f"{whole} (run {result.run.id[:8]})" if alike else whole if plain.count(name) > 1 else name
        found[result.run.id] = told
    return found


def _beats(of: Evaluation, one: str, other: str) -> bool:
    for c in of.comparisons:
        if (c.first.id, c.second.id) == (one, other):
            return c.verdict == "first better"
        if (c.second.id, c.first.id) == (one, other):
            return c.verdict == "second better"
    return False


def _recommendations(best: str, tied: list[str], metric: str) -> list[str]:
    """Sentences that follow from the verdict, and from nothing else."""
    what = "the score" if metric == "score" else metric
    if len(tied) < 2:
        return [
            f"{best} is shown to be better than every other model compared, by {what}",
            f"Consider {best}, if its cost and latency suit you",
        ]
    return [
        f"No difference by {what} is shown between {', '.join(tied[:-1])} and {tied[-1]}",
        "Choose among them by cost and latency, or ask more items",
    ]
