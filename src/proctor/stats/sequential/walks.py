"""The walk that fits a pair, and a whole path made again from kept steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from proctor.findings.looks import Path, PathEnd
from proctor.stats.sequential.flip import FlipWalk
from proctor.stats.sequential.futility import futile
from proctor.stats.sequential.search import SequentialWalk
from proctor.stats.sequential.sign import SignWalk
from proctor.stats.sequential.spending import Step


def walk_of(n: int, alpha: float = 0.05, *, exact: bool, key: str = "", span: float = 0.0) -> SequentialWalk:
    """A walk over `n` planned items: `exact` where each is right or wrong, asked once and stands for itself."""
    return SignWalk(n, alpha) if exact else FlipWalk(n, alpha, key=key, span=span)


def path_of(walk: SequentialWalk, ended: PathEnd | None = None) -> Path:
    """The path of a walk as it stands; without `ended` as that of a pair that is alone."""
    if ended is None:
        whole = bool(walk.points) and walk.points[-1].items == walk.n
        ended = "decided" if walk.crossed else "whole" if whole else "futile" if futile(walk) else "open"
    return Path(walk.n, tuple(walk.points), ended, walk.alpha, walk.p_value, walk.critical, walk.test)


def replayed(
    steps_by_look: Iterable[tuple[int, Sequence[Step]]],
    n: int,
    alpha: float = 0.05,
    *,
    exact: bool,
    key: str = "",
    span: float = 0.0,
) -> Path:
    """The path that a pair alone comes to, which ends at the first look at which it is decided or futile."""
    walk = walk_of(n, alpha, exact=exact, key=key, span=span)
    for t, steps in steps_by_look:
        walk.look(t, steps)
        if walk.crossed or futile(walk):
            break
    return path_of(walk)
