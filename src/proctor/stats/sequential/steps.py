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
        shared = [
            (mine, theirs)
            for asking, mine in first.askings.items()
            if (theirs := second.askings.get(asking)) is not None
        ]
        unit, weight = self._unit(first), self.measure.tasks[first.task].weight
        found = self._step(unit, [one for one in shared if one[0].measured and one[1].measured], weight)
        self._charge(FIRST, unit, shared, found, weight)
        self._charge(SECOND, unit, [(theirs, mine) for mine, theirs in shared], -found, weight)
        self.read += 1
        if len(self.stretches) == len(self._at) or self.read < self._at[len(self.stretches)]:
            return False
        self._new.items, self._new.exact = self.read, self._exact
        self._new.span = self._ends[1] - self._ends[0]
        self.stretches.append(self._new)
        self._new = Stretch()
        return True

    def _unit(self, item: ItemRead) -> Hashable:
        """A copy of an item that came before belongs to that one's unit."""
        contents = [content for _, content in item.askings if content]
        unit = next((self._shown[each] for each in contents if each in self._shown), item.unit)
        for content in contents:
            self._shown.setdefault(content, unit)
        return unit

    def _step(self, unit: Hashable, both: Both, weight: float) -> float:
        """The item's difference, taken down; 0 where one side did not measure it."""
        if not both:
            return 0.0
        one, other = _mean([mine for mine, _ in both]), _mean([theirs for _, theirs in both])
        low, high = self._ends
        self._ends = min(low, one, other), max(high, one, other)
        single = len(both) == 1 and both[0][0].asked == both[0][1].asked == 1
        self._exact = self._exact and single and {one, other} <= {0.0, 1.0} and unit not in self._units
        self._units.add(unit)
        self._new.weight += weight
        self._new.measured += 1
        if one != other:
            self._new.steps.append((unit, weight * (one - other)))
        return one - other

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
