"""Runs that asked every item in three wordings: how far a score or a difference moves with the wording."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import fmean

from proctor.figures import fraction
from proctor.store import AttemptRow
from proctor.types import Outcome

# Wording -> item without its wording's suffix -> share of its askings that were right.
ByWording = Mapping[str, Mapping[str, float]]


def by_wording(rows: Iterable[AttemptRow]) -> ByWording:
    askings: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        if row.outcome not in (Outcome.ERROR, Outcome.ANSWERED):
            item, _, wording = row.item_id.rpartition("@")
            rights = askings.setdefault(wording, {}).setdefault(item, [])
            rights.append(float(row.outcome == Outcome.CORRECT))
    return {
        wording: {item: fmean(rights) for item, rights in items.items()}
        for wording, items in sorted(askings.items())
    }


def spread_note(shares: ByWording) -> str:
    """How the share of right answers differs between the wordings, in a sentence; "" where there is one only."""
    values = {wording: fmean(items.values()) for wording, items in shares.items() if items}
    if len(values) < 2:
        return ""
    listed = ", ".join(f"{wording}: {fraction(value)}" for wording, value in values.items())
    spread = fraction(max(values.values()) - min(values.values()))
    return f"Right answers by wording: {listed}; highest and lowest are {spread} apart."


def sign_note(first: ByWording, second: ByWording) -> str:
    """A sentence if the model with more right answers is not the same in every wording, else ""."""
    gaps = {}
    for wording in first.keys() & second.keys():
        shared = first[wording].keys() & second[wording].keys()
        if shared:
            gaps[wording] = fmean(first[wording][item] - second[wording][item] for item in shared)
    if not gaps or min(gaps.values()) >= 0 or max(gaps.values()) <= 0:
        return ""
    listed = ", ".join(f"{wording}: {fraction(gaps[wording])}" for wording in sorted(gaps))
    return f"The two change places with the wording (right answers, first less second, by wording: {listed})."
