"""Votes become a verdict: the grade that most of them give; a tie is no grade that anybody gave.

Votes are several askings of one judge, or one verdict of each judge of a panel. Where two grades or more are given as
often, and the scale has more than two, the verdict is the mean of what they are worth: between a 3 and a 4 lies 3.5. On
a scale of two (pass or fail) nothing lies between: the votes say that it cannot be told, and there is no verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

Votes = Sequence[str | None]  # the grades that were read, by their names; None: unreadable


def verdict(votes: Votes, worth: Mapping[str, float]) -> float | None:
    """What the votes are worth together, from 0 to 1; None without a verdict.

    >>> verdict(["pass", "fail", "pass"], {"pass": 1.0, "fail": 0.0})
    1.0
    >>> verdict(["5", "4", None], {"5": 1.0, "4": 0.75, "3": 0.5})
    0.875
    >>> verdict(["pass", "fail"], {"pass": 1.0, "fail": 0.0}) is None
    True
    """
    counted = Counter(vote for vote in votes if vote in worth)
    if not counted:
        return None
    most = max(counted.values())
    first = [worth[vote] for vote, times in counted.items() if vote is not None and times == most]
    if len(first) > 1 and len(worth) == 2:
        return None
    return sum(first) / len(first)


def split(votes: Votes, worth: Mapping[str, float]) -> bool:
    """Whether votes could be read, and give no verdict: as many say one as the other."""
    return any(vote in worth for vote in votes) and verdict(votes, worth) is None


def alike(votes: Votes) -> bool:
    """Whether all votes are one grade."""
    return None not in votes and len(set(votes)) == 1
