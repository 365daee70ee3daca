"""How often two graders give the same replies the same score."""

from __future__ import annotations

from collections.abc import Iterable

from proctor.findings import Estimate
from proctor.stats.estimates import Count, accuracy
from proctor.stats.estimates_sheet import nothing

Scores = tuple[str, float | None, float | None]  # the item, and what each of the two gave one reply to it


def agreement(scores: Iterable[Scores]) -> Estimate:
    """The share of replies with equal scores among those that both have scored, with its Wilson interval.

    Replies to one item count as one for the interval. `scored` of `asked` counts replies.

    >>> found = agreement([("a", 1.0, 1.0), ("b", 1.0, 0.0), ("c", 0.0, None)])
    >>> found.value, found.scored, found.asked
    (0.5, 2, 3)
    """
    told = list(scores)
    both = [(item, one == other) for item, one, other in told if one is not None and other is not None]
    if not both:
        return nothing(len(told), "no reply was scored by both")
    items = {item for item, _ in both}
    return accuracy(Count(len(told), len(both), sum(same for _, same in both), len(items)))
