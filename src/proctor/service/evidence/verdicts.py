"""The closing sentence of a comparison: which is better, by how much, how sure, on how many rows or tasks."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.figures import (
    MOST_ITEMS,
    among,
    fraction,
    listed,
    margin,
    metric_words,
    names,
    p_value,
    rounded,
)
from proctor.findings import OF_TRIALS, Comparison, Difference
from proctor.service.evidence.path_words import came_to, not_shown

ALPHA = 0.05


def sentence(comparisons: Sequence[Comparison], ranked: Sequence[str]) -> str:
    """What the rows show about the models, in one sentence a pair that matters.

    `ranked` holds the runs' ids, best score first; the best is set against each of the others.
    """
    if not comparisons or len(ranked) < 2:
        return ""
    best = ranked[0]
    by_pair = {(c.first.id, c.second.id): c for c in comparisons}

    def against(other: str) -> tuple[Comparison, bool]:
        pair = by_pair.get((best, other))
        return (pair, False) if pair else (by_pair[other, best], True)

    by_best = {other: against(other) for other in ranked[1:]}
    runner_up = by_best.pop(ranked[1])
    name = _names(*runner_up)[0]
    lines = [_pair_sentence(*runner_up)]
    further = {
        "better": f"{name} is {'also ' * (_standing(*runner_up) == 'better')}better than {{}}.",
        "worse": f"{name} is worse than {{}} on {_unit(runner_up[0].whole)[1]} like those they share.",
        "equal": f"{name} is practically equal to {{}}.",
        "open": f"Between {name} and {{}} no difference is shown.",
        "apart": f"{name} cannot be compared with {{}}: they share no scored item.",
    }
    for standing, words in further.items():
        others = [
            _names(*pair)[1]
            for pair in by_best.values()
            if _standing(*pair) == standing and not pair[0].whole.withheld
        ]
        if others:
            lines.append(words.format(listed(others)))
    lines += [_pair_sentence(*pair) for pair in by_best.values() if pair[0].whole.withheld]
    tests = max((c.whole.comparisons for c in comparisons if c.whole.adjusted_p is not None), default=0)
    if tests > 1:
        lines.append(f"(p-values adjusted for {tests} comparisons.)")
    return " ".join(lines)


def _standing(c: Comparison, swapped: bool) -> str:
    """How the first of the pair, or the second if swapped, stands against the other."""
    if c.whole.estimate.value is None:
        return "apart"
    if c.verdict in ("no difference shown", "practically equal"):
        return "open" if c.verdict == "no difference shown" else "equal"
    return "better" if (c.verdict == "second better") == swapped else "worse"


def _names(c: Comparison, swapped: bool) -> tuple[str, str]:
    first, second = names(c)
    return (second, first) if swapped else (first, second)


def _pair_sentence(c: Comparison, swapped: bool) -> str:
    first, second = _names(c, swapped)
    of = c.whole
    d = of.estimate
    if d.value is None or d.low is None or d.high is None:
        return f"{first} and {second} cannot be compared: {d.reason}."
    # The better one is named first, whatever its rank; so is the one that would be better.
    if _standing(c, swapped) == "worse" or (of.withheld and (d.value < 0) != swapped):
        return _pair_sentence(c, not swapped)
    value, low, high = (-d.value, -d.high, -d.low) if swapped else (d.value, d.low, d.high)
    only = (of.only_second, of.only_first) if swapped else (of.only_first, of.only_second)
    inside = "" if of.metric == "accuracy" else f" in {metric_words(of.metric)}"
    gap = f"{fraction(value)} [{fraction(low)}, {fraction(high)}]{inside}"
    alone = "got right" if _unit(of) == ROWS else "passed"
    split = (
        f"{_counted(only[0], of)} only {first} {alone}, {only[1]:,} only {second}"
        if of.test == "exact McNemar" or of.test.startswith("sign walk")
        else f"{_counted(only[0], of)} where {first} did better, {only[1]:,} where {second} did"
    )
    comma = "," if of.path else ""  # the name of a walk has parts of its own
    test = f"{of.test}{comma} {p_value(of.adjusted_p)}; {split}"
    after, stopped = came_to(c)
    alike = f"{_unit(of)[1]} like these" if after else _alike(of)
    if of.withheld:
        return _withheld(c, swapped, f"{gap} ({test})")
    if c.verdict == "practically equal":
        within = f"within {margin(c.margin)} of each other{inside}"
        return f"{first} and {second} are practically equal on {alike}, {within}: {gap}{after} ({test})."
    if c.verdict != "no difference shown":
        return f"{first} is better than {second} on {alike}, by {gap}{after} ({stopped}{test})."
    if told := not_shown(c, (first, second), f"{gap} ({test})"):
        return told
    one, many = _unit(of)
    these = f"This one {one} does" if of.shared == 1 else f"These {of.shared:,} {many} do"
    rest = f"{many} like it" if of.shared == 1 else f"{many} like them"
    start = f"{these} not show which of {first} and {second} is better on {rest}: "
    there = _there(of, (first, second))
    return f"{start}the difference is {gap} ({test}). {there}{_advice(of)}"


def _withheld(c: Comparison, swapped: bool, gap: str) -> str:
    """That one would be better but for what is left out, and how the rest is asked."""
    first, second = _names(c, swapped)
    lacking = c.second if swapped else c.first
    cure = f" `proctor resume {lacking.id[:8]}` asks the rest." if lacking.partial else ""
    return (
        f"{first} is not called better than {second}, although {gap} on {_alike(c.whole)} would show it: "
        f"{c.whole.withheld}.{cure}"
    )


ROWS, TASKS = ("row", "rows"), ("task", "tasks")


def _unit(of: Difference) -> tuple[str, str]:
    """What its items are called, one and several."""
    return TASKS if of.metric in OF_TRIALS else ROWS


def _counted(n: int, of: Difference) -> str:
    one, many = _unit(of)
    return f"1 {one}" if n == 1 else f"{n:,} {many}"


def _alike(of: Difference) -> str:
    """What an interval and a test speak of: not of the rows that were asked, which are known, but of more of them."""
    many = _unit(of)[1]
    return f"{many} like this one" if of.shared == 1 else f"{many} like these {of.shared:,}"


def _there(of: Difference, pair: tuple[str, str]) -> str:
    """What rollouts say of the very tasks that were worked on, where so few tell nothing of others."""
    if of.same_tasks_p is None or not of.estimate.value:
        return ""
    these = "this very task" if of.shared == 1 else f"these very {of.shared:,} tasks"
    test = f"(exact permutation of trials within tasks {p_value(of.same_tasks_p)})"
    if of.same_tasks_p >= ALPHA:
        return f"On {these} too it may be the luck of the rollouts {test}. "
    return f"On {these} {pair[0]} is better than {pair[1]}, beyond the luck of the rollouts {test}. "


def _advice(of: Difference) -> str:
    """What would be needed, where that follows: a difference below its standard error is mostly noise."""
    power, many = f"(80 % power{among(of.comparisons)})", _unit(of)[1]
    if of.items_needed is None:
        small = "It is smaller than its standard error" if of.estimate.value else "Both scored the same"
        if of.detectable is None:
            whom = "models" if many == "rows" else "agents"
            return f"{small}; so few {many} tell no two {whom} apart."
        least = f"a difference of about {fraction(of.detectable)} or more"
        return f"{small}; as many {many} like these would show {least} {power}."
    if of.items_needed > MOST_ITEMS:
        return f"A difference as small as this would take more than {MOST_ITEMS:,} {many} to show."
    if of.items_needed <= of.shared:
        return f"About twice as many {many} would be safer."
    needed = f"about {rounded(of.items_needed):,} {many} like these"
    return f"If it is truly as large, {needed} would show it {power}."
