"""A pair of runs, item by item: the walk of their differences, and whether it stands if errors counted as well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proctor.findings.looks import Path, PathEnd, PathPoint
from proctor.stats.paired import ALPHA
from proctor.stats.sequential.flip import FlipWalk
from proctor.stats.sequential.futility import futile
from proctor.stats.sequential.measure import Measure
from proctor.stats.sequential.reading import ItemRead
from proctor.stats.sequential.repeated import repeated_interval, repeated_shares
from proctor.stats.sequential.search import SequentialWalk
from proctor.stats.sequential.stages import PairLook
from proctor.stats.sequential.steps import FIRST, SECOND, Side, Steps, Stretch
from proctor.stats.sequential.walks import walk_of


@dataclass(slots=True)
class _Going:
    """A walk that has come to `looks` looks."""

    walk: SequentialWalk
    exact: bool
    looks: int = 0


class PairWalk:
    """Two runs' differences as a walk, first minus second, taken in item by item.

    Items that one side could not be asked (an error that is asked no more) add no step: they measured nothing. But
    the side that leads must not lead by them: to be decided, the walk must have crossed too in which these items
    of the leading side count as its worst. That only ever takes from what crosses, so the level holds.

    Looks are counted from 1; `looks` says after how many of them something is asked for. A pair that is `alone` is
    decided at level `alpha` or not at all, so it needs no p-value for that.
    """

    def __init__(self, measure: Measure, alpha: float = ALPHA, *, alone: bool = True) -> None:
        self.measure, self.alpha, self.alone = measure, alpha, alone
        self.planned = measure.items
        self.steps = Steps(measure)
        self._stages: list[PairLook] = []
        self._going: dict[tuple[Side | None, float], _Going] = {}

    def add(self, first: ItemRead, second: ItemRead) -> bool:
        """The next item of both; whether a look is due after it."""
        return self.steps.add(first, second)

    @property
    def read(self) -> int:
        return self.steps.read

    @property
    def looks(self) -> int:
        return len(self.steps.stretches)

    def items(self, looks: int) -> int:
        return self.steps.stretches[looks - 1].items if looks else 0

    def lost(self, looks: int, side: Side) -> int:
        """How many askings a side could not be asked, and the other was."""
        return sum(stretch.lost.get(side, 0) for stretch in self.steps.stretches[:looks])

    def stage(self, looks: int) -> PairLook:
        """What decisions need of a look; looks are to be asked for in their order."""
        while len(self._stages) < looks:
            now = len(self._stages) + 1
            crossed = self.crossed(now)
            level = self.alpha if self.alone else self.p_value(now) if crossed else None
            self._stages.append(PairLook(level if crossed else None, not crossed and self.futile(now)))
        return self._stages[looks - 1]

    # What a look shows ----------------------------------------------------------------------------

    def crossed(self, looks: int) -> bool:
        """Whether it would be decided by now at level `alpha`, errors of the leading side counted."""
        walk = self._walk(looks)
        if not walk.crossed:
            return False
        lead = _lead(walk)
        charged = self._charged(lead, looks)
        return charged is None or (charged.crossed and _lead(charged) == lead)

    def p_value(self, looks: int) -> float:
        """The smallest level at which it would be decided by now; 1 before the first look."""
        return 1.0 if not looks else max(self.plain_p_value(looks), self._charged_p_value(looks))

    def plain_p_value(self, looks: int) -> float:
        """The same, whatever errors of the leading side would change."""
        return self._walk(looks).p_value if looks else 1.0

    def _charged_p_value(self, looks: int) -> float:
        lead = _lead(self._walk(looks))
        charged = self._charged(lead, looks)
        if charged is None:
            return 0.0
        return charged.p_value if _lead(charged) == lead else 1.0

    def futile(self, looks: int) -> bool:
        """Whether it would hardly be decided with the rest of the items."""
        if not looks or self.crossed(looks):
            return False
        walk = self._walk(looks)
        if not walk.crossed:
            return futile(walk)
        charged = self._charged(_lead(walk), looks)
        return charged is not None and futile(charged)

    def path(self, looks: int, ended: PathEnd, alpha: float, p_value: float) -> Path:
        """The path to that look, its boundary that of level `alpha`."""
        walk = self._walk(looks, alpha)
        points = tuple(walk.points)
        return Path(self.planned, points, ended, alpha, p_value, walk.critical, walk.test)

    # The interval ---------------------------------------------------------------------------------

    def interval(self, looks: int, difference: float | None = None) -> tuple[float, float]:
        """The interval of the difference that holds at whatever look one stops; `difference` as it is told.

        A pair that has crossed at an earlier look has an interval there as well. All of them hold together, so what
        lies in both does.
        """
        low, high = self._interval(looks, difference)
        walk = self._walk(looks)
        if not walk.crossed or low > 0 or high < 0:
            return low, high
        first = next(i for i, point in enumerate(walk.points, 1) if _beyond(point))
        least, most = self._interval(first, None)
        both = max(low, least), min(high, most)
        return both if both[0] <= both[1] else (low, high)

    def _interval(self, looks: int, difference: float | None) -> tuple[float, float]:
        if not looks:
            return -1.0, 1.0
        walk, seen = self._walk(looks), self.steps.stretches[:looks]
        if seen[-1].exact:
            ahead = sum(1 for stretch in seen for _, step in stretch.steps if step > 0)
            behind = sum(1 for stretch in seen for _, step in stretch.steps if step < 0)
            return repeated_shares(ahead, behind, sum(stretch.measured for stretch in seen), walk.critical)
        weight = sum(stretch.weight for stretch in seen)
        span = seen[-1].span
        if not weight:
            return -span, span
        found = walk.points[-1].walk / weight
        # What is told may weigh the items that came a little otherwise than the walk; the interval goes with it.
        told = found if difference is None or difference * found <= 0 else difference
        stretched = abs(told / found) if found else 1.0
        return repeated_interval(told, walk.spread / weight * stretched, walk.critical, most=span)

    # Walks ----------------------------------------------------------------------------------------

    def _charged(self, side: Side, looks: int) -> SequentialWalk | None:
        if not any(side in stretch.charged for stretch in self.steps.stretches[:looks]):
            return None
        return self._walk(looks, self.alpha, side)

    def _walk(self, looks: int, alpha: float | None = None, side: Side | None = None) -> SequentialWalk:
        """The walk at that look: the one at hand goes on, or is made again where it is further or of another kind."""
        stretches = self.steps.stretches[:looks]
        exact = stretches[-1].exact if stretches else self.measure.even
        at = side, self.alpha if alpha is None else alpha
        going = self._going.get(at)
        if going is None or going.looks > looks or going.exact != exact:
            made = walk_of(self.measure.items, at[1], exact=exact, key=self.measure.key)
            going = self._going[at] = _Going(made, exact)
        for stretch in stretches[going.looks :]:
            self._advance(going, stretch, side)
        return going.walk

    def _advance(self, going: _Going, stretch: Stretch, side: Side | None) -> None:
        if isinstance(going.walk, FlipWalk):
            going.walk.span = stretch.span * self.measure.item
        going.walk.look(stretch.items, [*stretch.steps, *(stretch.charged.get(side, ()) if side else ())])
        going.looks += 1


def _beyond(point: PathPoint) -> bool:
    return point.boundary is not None and abs(point.walk) >= point.boundary


def _lead(walk: SequentialWalk) -> Side:
    """Who led when the walk crossed; who leads, if it has not."""
    told: Sequence[PathPoint] = [next(filter(_beyond, walk.points), walk.points[-1])] if walk.points else ()
    return SECOND if told and told[0].walk < 0 else FIRST
