"""Two runs' kept rows as a walk: for pairs that were looked at while at work, or that stopped early."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from proctor.findings.looks import Path, PathEnd
from proctor.manifest import BatchFacts, ExamFacts, LogFacts, RolloutFacts
from proctor.stats.estimates import Shape
from proctor.stats.estimates_sheet import base_id
from proctor.stats.metrics import Scored
from proctor.stats.sequential.measure import Measure, measure_of
from proctor.stats.sequential.pair import PairWalk
from proctor.stats.sequential.reading import Balance, ItemRead, items_in_order
from proctor.types import Run, Status

Side = tuple[Run, Sequence[Scored]]
Name = tuple[str, str]  # an item's task and id, without its wording


def early(run: Run) -> bool:
    """Whether a run was asked less than it was to be asked: it stopped, failed, or is still at work."""
    if run.cell.limits.shard is not None:
        return run.partial
    return run.stopped is not None or (run.partial and run.status is not Status.COMPLETED)


def by_path(one: Run, other: Run, watched: Collection[str]) -> bool:
    """Whether a pair must be tested by its path: somebody may have stopped, or looked, when it suited."""
    return any(run.id in watched or early(run) for run in (one, other))


@dataclass(frozen=True, slots=True)
class Followed:
    """The walk of a pair, and the rows of both up to its last look. `whole`: there are no further ones to come."""

    walk: PairWalk
    looks: int
    whole: bool
    first: Sequence[Scored]
    second: Sequence[Scored]

    def path(self) -> Path:
        """As that of a pair that is alone."""
        crossed = bool(self.looks) and self.walk.crossed(self.looks)
        ended: PathEnd = "decided" if crossed else "whole" if self.whole else "open"
        return self.walk.path(self.looks, ended, self.walk.alpha, self.walk.p_value(self.looks))


@dataclass(slots=True)
class Follower:
    """Follows pairs of these runs' rows. `shape` is that of the headline."""

    sides: Sequence[Side]
    shape: Shape
    _items: dict[tuple[int, tuple[tuple[str, tuple[str, ...]], ...]], dict[Name, ItemRead]] = field(
        default_factory=dict
    )

    def pair(self, one: int, other: int, ended: Path | None = None) -> Followed | str:
        """The walk over what two sides have both answered; why there is none, in words.

        `ended`: the path as it was decided side by side. Runs that were not asked to their end are read no further.
        """
        runs = self.sides[one][0], self.sides[other][0]
        whole = not any(map(early, runs))
        if (why := _unfair(runs)) and not whole:
            return why
        measure = measure_of(self.shape, self._asked(one, other, whole=whole))
        if isinstance(measure, str):
            return measure
        walk = PairWalk(measure)
        read: list[Name] = []
        for first, second in self._both(one, other, measure, whole=whole):
            walk.add(first, second)
            read.append((first.task, first.item))
        looks = walk.looks
        while ended is not None and not whole and looks and walk.items(looks) > ended.items:
            looks -= 1
        if not whole and looks:
            read = read[: walk.items(looks)]
        rows = [_only(self.sides[side][1], frozenset(read), measure) for side in (one, other)]
        return Followed(walk, looks, whole, *rows)

    def _asked(self, one: int, other: int, *, whole: bool) -> Mapping[str, int]:
        """How many items of each task both have, or were to have."""
        if whole:
            names = [{_name(row, self.shape) for row in self.sides[side][1]} for side in (one, other)]
            return _counted(names[0] & names[1])
        mine, theirs = self._planned(one), self._planned(other)
        return {task: min(n, theirs[task]) for task, n in mine.items() if task in theirs}

    def _planned(self, side: int) -> Mapping[str, int]:
        """How many items of each task a run was to be asked; those that it was, where its source does not tell."""
        run, rows = self.sides[side]
        told = run.manifest.facts.asked
        return told or _counted({_name(row, self.shape) for row in rows})

    def _both(
        self, one: int, other: int, measure: Measure, *, whole: bool
    ) -> Sequence[tuple[ItemRead, ItemRead]]:
        """The items of both in their common order, as far as neither has a gap."""
        runs = self.sides[one][0], self.sides[other][0]
        mine, theirs = self._read(one, measure), self._read(other, measure)
        # Sampling is nested: the order of the smaller exam is also that of what both share.
        order = mine if runs[0].planned <= runs[1].planned or not early(runs[1]) else theirs
        waiting = {last for side in (one, other) if (last := self._waiting(side)) is not None}
        names = []
        for name in order:
            if name in mine and name in theirs and name not in waiting:
                if not (_repeated(runs[0], mine[name]) and _repeated(runs[1], theirs[name])):
                    break
                names.append(name)
            elif name in waiting or early(runs[0] if name in theirs else runs[1]):
                break
        if len(measure.tasks) > 1 and any(map(_uneven, runs)):
            balance = Balance(
                {task: n for task, n in self._asked(one, other, whole=whole).items() if task in measure.tasks}
            )
            names = [(item.task, item.item) for name in names for item in balance.push(mine[name])]
        return [(mine[name], theirs[name]) for name in names]

    def _waiting(self, side: int) -> Name | None:
        """The last item of a run that stopped early, whose other wordings may be missing."""
        run, rows = self.sides[side]
        return _name(rows[-1], self.shape) if rows and run.manifest.facts.worded and early(run) else None

    def _read(self, side: int, measure: Measure) -> dict[Name, ItemRead]:
        key = side, tuple((task, of.metrics) for task, of in measure.tasks.items())
        if key not in self._items:
            items = items_in_order(self.sides[side][1], measure)
            self._items[key] = {(item.task, item.item): item for item in items}
        return self._items[key]


def _name(row: Scored, shape: Shape) -> Name:
    return row.task, base_id(row.item, shape.worded)


def _counted(names: frozenset[Name] | set[Name]) -> dict[str, int]:
    found: dict[str, int] = {}
    for task, _ in sorted(names):
        found[task] = found.get(task, 0) + 1
    return found


def _only(rows: Sequence[Scored], read: frozenset[Name], measure: Measure) -> Sequence[Scored]:
    """Rows of the items that were read, and of tasks that are no part of the walk."""
    return [
        row
        for row in rows
        if row.task not in measure.tasks or (row.task, base_id(row.item, measure.worded)) in read
    ]


def _repeated(run: Run, item: ItemRead) -> bool:
    """Whether all repeats of an early run's item are there; agents' tasks have each their own number of them."""
    if run.cell.repeats == 1 or not early(run):
        return True
    if isinstance(run.manifest.facts, RolloutFacts) or run.cell.limits.shard is not None:
        return True
    return all(marks.asked >= run.cell.repeats for marks in item.every().values())


def _uneven(run: Run) -> bool:
    """Whether the order of asking has some tasks before others: the first few items of each, or another tool's."""
    facts = run.manifest.facts
    return isinstance(facts, LogFacts) or (isinstance(facts, ExamFacts) and facts.limit is not None)


def _unfair(runs: Sequence[Run]) -> str:
    """Why a beginning of the order is no sample of the whole; "" where it is."""
    for run in runs:
        facts = run.manifest.facts
        if isinstance(facts, BatchFacts) and facts.order != "random":
            return "they stopped early in the order of their file, and its beginning is no fair sample of it"
        if isinstance(facts, LogFacts):
            return f"they stopped early in the order of {facts.tool}, and its beginning is no fair sample"
    return ""
