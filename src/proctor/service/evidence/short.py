"""The verdict of a comparison in one line: who is better, by how much, how sure, on how many items."""

from __future__ import annotations

from collections.abc import Mapping

from proctor.figures import fraction, listed, margin, metric_words, title_of
from proctor.findings import OF_TRIALS, SIGNED, Board, Comparison, Difference, Evaluation
from proctor.service.evidence.standing import Standing
from proctor.service.evidence.verdicts import ALPHA

POINTS = 100  # of a share: 0.031 is 3.1 points


def in_short(of: Evaluation, at: Standing) -> str:
    """One line for an evaluation of at least two runs; the whole sentence is `Evaluation.verdict`.

    Scores between 0 and 1 are told apart in points, hundredths; others in their own units.
    """
    ranked = [one for one in at.values if at.values[one] is not None]
    ranked.sort(key=lambda one: -(at.values[one] or 0.0))
    if len(ranked) < 2:
        return _apart(of, at)
    best, others = at.best, [one for one in ranked if one != at.best]
    pair = _pair(of, best, others[0])
    name = at.names[best]
    if len(of.results) == 2:
        return _of_two(pair, name, at.names[others[0]], best)
    if len(at.tied) < 2:
        runner_up = at.names[others[0]]
        ahead = f"{_gap(pair, best)} better than {runner_up}, the runner-up"
        return f"{name} is better than every other: {ahead}, {_on(pair)}."
    told = f"{listed(list(at.tied))} cannot be told apart {_on(pair)}"
    beaten = [at.names[one] for one in others if at.names[one] not in at.tied]
    told += f"; {name} is better than {listed(beaten)}" if beaten else ""
    return f"{told}{_there(pair, name, at.names[others[0]])}."


def board_in_short(board: Board, names: Mapping[str, str]) -> str:
    """Who leads a board, in one line; `names` are by run id."""
    first = [place for place in board.places if place.rank == 1]
    if not first or board.models < 2:
        return f"{board.models} model: nothing to rank it against." if first else ""
    told = [names[place.result.run.id] for place in first]
    if len(told) == 1:
        others = f"all {board.models - 1} others" if board.models > 2 else "the other"
        return f"{told[0]} leads: it is shown to be better than {others}."
    more = sum(1 for place in board.places if place.rank > 1) + board.models - len(board.places)
    behind = f"; {more} stand{'s' if more == 1 else ''} behind" if more else ""
    return f"{listed(told)} share the first rank: they cannot be told apart{behind}."


def _apart(of: Evaluation, at: Standing) -> str:
    reason = next((c.whole.estimate.reason for c in of.comparisons if c.whole.estimate.reason), None)
    return f"{listed(list(at.names.values()))} cannot be compared: {reason or 'they share no scored item'}."


def _of_two(pair: Comparison, first: str, second: str, best: str) -> str:
    whole = pair.whole
    if whole.estimate.low is None:
        return f"{first} and {second} cannot be compared: {whole.estimate.reason}."
    if whole.withheld:
        return f"{first} is not called better than {second}: {whole.withheld}."
    if pair.verdict == "practically equal":
        near = f"{_between(pair, best)}, within {_margin(whole)}"
        return f"{first} and {second} are practically equal {_on(pair)}: {near}."
    if "better" in pair.verdict:
        # The test may call another one better than the higher score: tasks weigh differently there.
        ahead = (pair.verdict == "first better") == (pair.first.id == best)
        one, other = (first, second) if ahead else (second, first)
        better = pair.first.id if pair.verdict == "first better" else pair.second.id
        return f"{one} is better than {other} by {_gap(pair, better)} {_on(pair)}."
    if whole.path is not None and whole.path.ended == "open":
        return f"Not decided yet between {first} and {second}: {_between(pair, best)} so far, {_on(pair)}."
    there = _there(pair, first, second)
    return f"{first} and {second} cannot be told apart {_on(pair)}: {_between(pair, best)}{there}."


def _pair(of: Evaluation, one: str, other: str) -> Comparison:
    return next(c for c in of.comparisons if {c.first.id, c.second.id} == {one, other})


def _there(pair: Comparison, first: str, second: str) -> str:
    """What trials show of the very tasks that were worked on, where so few tell nothing of others like them."""
    of = pair.whole
    if of.same_tasks_p is None or of.same_tasks_p >= ALPHA or not of.estimate.value:
        return ""
    return f"; on these very tasks {first} is better than {second}, beyond the luck of the rollouts"


def _between(pair: Comparison, one: str) -> str:
    return f"{_gap(pair, one)} between them"


def _gap(pair: Comparison, one: str) -> str:
    """The difference as that of `one` over the other, with its interval."""
    e = pair.whole.estimate
    if e.value is None or e.low is None or e.high is None:
        return "an unknown distance"
    value, low, high = (e.value, e.low, e.high) if pair.first.id == one else (-e.value, -e.high, -e.low)
    if not _in_points(pair.whole):
        unit = "" if pair.whole.metric == "mean" else f" in {metric_words(pair.whole.metric)}"
        return f"{fraction(value)}{unit} (95 % {fraction(low)} to {fraction(high)})"
    named = "" if pair.whole.metric == "accuracy" else f" of {title_of(pair.whole.metric)}"
    unit = "point" if points(value) == "1.0" else "points"
    return f"{points(value)} {unit}{named} (95 % {points(low)} to {points(high)})"


def points(value: float) -> str:
    """A difference of shares in hundredths, one decimal; what is not 0 is not written as 0.

    >>> points(0.0312), points(-0.0005), points(0.0002), points(0.0), points(1.0)
    ('3.1', '-0.1', '0.1', '0.0', '100.0')
    """
    text = f"{abs(value) * POINTS:.1f}"
    if text == "0.0" and value:
        text = "0.1"
    return f"-{text}" if value < 0 else text


def _in_points(of: Difference) -> bool:
    inside = all(score is not None and 0 <= score <= 1 for score in (of.first, of.second))
    return inside and not any(each in of.metric for each in SIGNED)


def _margin(of: Difference) -> str:
    return f"{points(of.margin)} points" if _in_points(of) else margin(of.margin)


def _on(pair: Comparison) -> str:
    n = pair.whole.shared
    if pair.whole.metric in OF_TRIALS:
        return f"on tasks like these {n:,}" if n != 1 else "on tasks like this one"
    return f"on {n:,} shared item{'' if n == 1 else 's'}"
