"""What two runs' items add to the walk of their differences, kept look by look."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from proctor.stats.sequential.measure import Measure
from proctor.stats.sequential.reading import ItemRead, Marks
from proctor.stats.sequential.spending import looks_at

Step = tuple[Hashable, float]
Side = Literal[1, -1]
FIRST: Side = 1  # of a pair's two runs
SECOND: Side = -1
RIGHT = (0.0, 1.0)  # and wrong
Both = Sequence[tuple[Marks, Marks]]


@dataclass(slots=True)
class Stretch:
    """What came between two looks: the steps, and what each side's unmeasured items would add if they counted.

    `lost` counts the askings that measured nothing of a side, and something of the other; `weight` is that of the
    measured items. `span` is how far two scores lie apart at most, as far as is known at the look, and `exact`
    whether all items up to it were single ones, right or wrong.
    """

    items: int = 0
    steps: list[Step] = field(default_factory=list)
    charged: dict[Side, list[Step]] = field(default_factory=dict)
    lost: dict[Side, int] = field(default_factory=dict)
    weight: float = 0.0
    measured: int = 0
    span: float = 1.0
    exact: bool = True


class Steps:
    """Takes two runs' items in their common order; `stretches` are those up to the last look."""

    def __init__(self, measure: Measure) -> None:
        self.measure = measure
        self.read = 0
        self.stretches: list[Stretch] = []
        self._at = looks_at(measure.items)
        self._new = Stretch()
        self._units: set[Hashable] = set()
        self._shown: dict[str, Hashable] = {}  # what was shown -> the unit of the first item that showed it
        self._exact = measure.even
        self._ends = (0.0, 1.0)

    def add(self, first: ItemRead, second: ItemRead) -> bool:
        """The next item of both; whether a look is due after it."""
        weight = self.measure.tasks[first.task].weight
        if (
            first.askings is None
            and second.askings is None
            and first.score is not None
            and second.score is not None
        ):
            if first.content == second.content:
                self._step(
                    self._unit(first.unit, (first.content,)), first.score, second.score, weight, single=True
                )
        else:
            self._several(first, second, weight)
        self.read += 1
        if len(self.stretches) == len(self._at) or self.read < self._at[len(self.stretches)]:
            return False
        self._new.items, self._new.exact = self.read, self._exact
        self._new.span = self._ends[1] - self._ends[0]
        self.stretches.append(self._new)
        self._new = Stretch()
        return True

    def _several(self, first: ItemRead, second: ItemRead, weight: float) -> None:
        """An item with several askings, or of which a side measured nothing."""
        mine, theirs = first.every(), second.every()
        shared = [(marks, theirs[asking]) for asking, marks in mine.items() if asking in theirs]
        both = [each for each in shared if each[0].measured and each[1].measured]
        unit = self._unit(first.unit, [content for _, content in mine])
        found = 0.0
        if both:
            one, other = _mean([marks for marks, _ in both]), _mean([marks for _, marks in both])
            single = len(both) == 1 and both[0][0].asked == both[0][1].asked == 1
            self._step(unit, one, other, weight, single=single)
            found = one - other
        self._charge(FIRST, unit, shared, found, weight)
        self._charge(SECOND, unit, [(b, a) for a, b in shared], -found, weight)

    def _unit(self, unit: Hashable, contents: Sequence[str]) -> Hashable:
        """A copy of an item that came before belongs to that one's unit."""
        for content in contents:
            if content and (found := self._shown.setdefault(content, unit)) is not unit:
                unit = found
        return unit

    def _step(self, unit: Hashable, one: float, other: float, weight: float, *, single: bool) -> None:
        """The item's difference, taken down."""
        if self._exact:
            self._exact = single and one in RIGHT and other in RIGHT and unit not in self._units
            self._units.add(unit)
        if not 0.0 <= one <= 1.0 or not 0.0 <= other <= 1.0:
            self._ends = min(self._ends[0], one, other), max(self._ends[1], one, other)
        self._new.weight += weight
        self._new.measured += 1
        if one != other:
            self._new.steps.append((unit, weight * (one - other)))

    def _charge(self, side: Side, unit: Hashable, shared: Both, found: float, weight: float) -> None:
        """What it adds to count the side's unmeasured askings as its worst, of what the other has measured."""
        there = [(mine, theirs) for mine, theirs in shared if theirs.measured]
        if all(mine.measured == mine.asked for mine, _ in there):
            return
        asked = sum(mine.asked for mine, _ in there)
        lost = asked - sum(mine.measured for mine, _ in there)
        total = math.fsum(mine.total for mine, _ in there) + self._ends[0] * lost
        self._new.lost[side] = self._new.lost.get(side, 0) + lost
        more = total / asked - _mean([theirs for _, theirs in there]) - found
        if more:
            self._new.charged.setdefault(side, []).append((unit, side * weight * more))


def _mean(of: Sequence[Marks]) -> float:
    return math.fsum(marks.total for marks in of) / sum(marks.measured for marks in of)
