"""Runs that asked every item in three wordings: how far a score or a difference moves with the wording."""

from __future__ import annotations

from collections.abc import Iterable

from proctor.figures import fraction
from proctor.stats.descriptive import wordings
from proctor.stats.descriptive.wordings import ByWording
from proctor.store import AttemptRow


def by_wording(rows: Iterable[AttemptRow]) -> ByWording:
    return wordings.by_wording((row.item_id, row.outcome) for row in rows)


def spread_note(shares: ByWording) -> str:
    """How the share of right answers differs between the wordings, in a sentence; "" where there is one only."""
    values = wordings.shares(shares)
    if len(values) < 2:
        return ""
    listed = ", ".join(f"{wording}: {fraction(value)}" for wording, value in values.items())
    spread = fraction(max(values.values()) - min(values.values()))
    return f"Right answers by wording: {listed}; highest and lowest are {spread} apart."


def sign_note(first: ByWording, second: ByWording) -> str:
    """A sentence if the model with more right answers is not the same in every wording, else ""."""
    gaps = wordings.gaps(first, second)
    if not gaps or min(gaps.values()) >= 0 or max(gaps.values()) <= 0:
        return ""
    listed = ", ".join(f"{wording}: {fraction(gaps[wording])}" for wording in sorted(gaps))
    return f"The two change places with the wording (right answers, first less second, by wording: {listed})."
