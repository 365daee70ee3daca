"""The words for how a verdict was come to: what was looked at besides, and the path of a sequential test.

    Rerun         of how many complete runs of one cell a compared run stands
    Alternatives  of how many ways of asking or grading a comparison is one
    Looks         what the reader of a verdict must know of how it was chosen
    PathPoint     one look at a walk: how far from 0 it was, and how far it would have had to be
    Path          the sequential test of a pair, look by look, and how it stands
    Decision      runs that are asked side by side: the path of each pair, and what is decided

Statistics and the service make them, views show them. Everything here is frozen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

DECIDED = "stopped by --until-decided"  # what is said of a run that the verdict has ended begins so

Chosen = Literal[
    "wordings",
    "styles",
    "modes",
    "extractors",
    "graders",
    "tasks",  # sets of tasks of one suite
    "selections",  # of items, as by --limit or another seed
    "settings",  # of sampling: temperature, thinking, ...
    "metrics",
]


@dataclass(frozen=True, slots=True)
class Rerun:
    """`of` complete runs of one cell are here; `counted` of them make the compared score, as repeats of its items.

    `stopped` more of them were begun and ended before they were whole, `deleted` more are gone. `latest`: none of the
    others is newer.
    """

    run_id: str
    model: str
    of: int
    counted: int = 1
    stopped: int = 0
    latest: bool = True
    deleted: int = 0


@dataclass(frozen=True, slots=True)
class Alternatives:
    """The models have complete runs in `of` ways that differ in `what`; one of them is compared."""

    what: Chosen
    of: int


@dataclass(frozen=True, slots=True)
class Looks:
    """What was looked at beside a comparison.

    `models` have complete runs on these items, the compared ones among them; p-values are adjusted for `pairs`: those
    of all these models, or if `fixed` of the models alone that were named beforehand (`--only`, or a plan that was
    asked until decided). `peeks` counts the moments at which figures of these runs were shown before they were whole.
    Of `deleted` of the models all runs on these items are gone; their pairs count as if they told nothing.
    """

    models: int
    pairs: int
    fixed: bool = False
    reruns: tuple[Rerun, ...] = ()
    alternatives: tuple[Alternatives, ...] = ()
    peeks: int = 0
    deleted: int = 0


PathEnd = Literal["open", "decided", "futile", "whole"]


@dataclass(frozen=True, slots=True)
class PathPoint:
    """After `items` of the order: the sum of the differences, first minus second, and from where on it stops.

    `boundary` None: at this look nothing could stop it. Both are in items where each is right or wrong, else in the
    metric's units times items.
    """

    items: int
    walk: float
    boundary: float | None


@dataclass(frozen=True, slots=True)
class Path:
    """A pair's sequential test, level `alpha` over all its looks.

    `of` is how many items the runs were planned to have, `p_value` the smallest level at which it would have stopped
    by now, `critical` how many standard errors the difference needed at the last look (None: nothing was enough).
    """

    of: int
    points: tuple[PathPoint, ...]
    ended: PathEnd
    alpha: float
    p_value: float
    critical: float | None
    test: str

    @property
    def items(self) -> int:
        """How many items of the gapless prefix that both answered it has come to."""
        return self.points[-1].items if self.points else 0


@dataclass(frozen=True, slots=True)
class Decision:
    """Runs asked side by side, as far as all pairs' prefixes go. `paths` are by the ids of first and second run.

    `finished` runs take part in no open pair and are asked no more. `waits` says in words what holds the prefix up.
    """

    paths: Mapping[tuple[str, str], Path]
    finished: frozenset[str] = frozenset()
    said: str = ""
    waits: str = ""

    @property
    def over(self) -> bool:
        """Whether no pair is open any more."""
        return bool(self.paths) and all(path.ended != "open" for path in self.paths.values())
