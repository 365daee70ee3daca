"""Items that were asked in several wordings: the share of right answers in each, and how two models differ in each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import fmean

from proctor.types import Outcome

# Wording -> item without its wording's suffix -> share of its askings that were right.
ByWording = Mapping[str, Mapping[str, float]]


def by_wording(rows: Iterable[tuple[str, Outcome]]) -> ByWording:
    """`rows` are items' ids, "@" and the wording at their end, and what became of each asking."""
    askings: dict[str, dict[str, list[float]]] = {}
    for item_id, outcome in rows:
        if outcome not in (Outcome.ERROR, Outcome.ANSWERED):
            item, _, wording = item_id.rpartition("@")
            askings.setdefault(wording, {}).setdefault(item, []).append(float(outcome == Outcome.CORRECT))
    return {
        wording: {item: fmean(rights) for item, rights in items.items()}
        for wording, items in sorted(askings.items())
    }


def shares(of: ByWording) -> dict[str, float]:
    """The share of right answers by wording, items weighing alike.

    >>> shares({"1": {"a": 1.0, "b": 0.0}, "2": {}})
    {'1': 0.5}
    """
    return {wording: fmean(items.values()) for wording, items in of.items() if items}


def gaps(first: ByWording, second: ByWording) -> dict[str, float]:
    """First less second in each wording, on the items that both were asked in it.

    >>> gaps({"1": {"a": 1.0, "b": 0.0}}, {"1": {"a": 0.0}, "2": {"a": 1.0}})
    {'1': 1.0}
    """
    found = {}
    for wording in first.keys() & second.keys():
        shared = first[wording].keys() & second[wording].keys()
        if shared:
            found[wording] = fmean(first[wording][item] - second[wording][item] for item in shared)
    return found
