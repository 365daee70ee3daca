"""A task's rows as arrays: what was measured, how much each row weighs, what hangs together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from proctor.findings import Estimate
from proctor.stats.metrics import Scored, gender_parity
from proctor.types import Outcome

if TYPE_CHECKING:
    from proctor.stats.metrics import Array

WILSON = "Wilson"
READ = (Outcome.CORRECT, Outcome.WRONG, Outcome.ANSWERED)  # outcomes of replies with an answer
WORDINGS = ("@1", "@2", "@3")


@dataclass(frozen=True, slots=True)
class TaskShape:
    """What the statistics need to know of a task.

    `official` are the metrics whose mean is the task's score, `also` those shown beside them. `labels`
    are all answers of a labelled task; empty means "those among the targets". `full_size` is how many
    items the whole split has. An `extra` task is no part of the suite's score.
    """

    title: str
    official: tuple[str, ...] = ("accuracy",)
    also: tuple[str, ...] = ()
    positive: str | None = None
    labels: tuple[str, ...] = ()
    kind: str = "choices"
    full_size: int | None = None
    extra: bool = False


@dataclass(frozen=True, slots=True)
class Sheet:
    """The measured rows of a task, ordered by item so that the order of asking cannot matter.

    An item asked several times (wordings, repeats) counts once: `weight` is `scale` over the number of
    its rows, whole numbers that keep sums exact. `item` numbers the items, `unit` what is independent:
    the clusters, or the items where there are none. `copies` names the units that may go on in other tasks.
    """

    rows: Sequence[Scored]
    weight: Array
    item: Array
    unit: Array
    scale: int
    items: int
    units: int
    asked: int
    reason: str
    copies: Mapping[int, str] = field(default_factory=dict)

    @property
    def clustered(self) -> bool:
        return self.units < self.items


def base_id(item: str, worded: bool) -> str:
    """The item's id without its wording.

    >>> base_id("cola/7@2", True), base_id("cola/7@2", False)
    ('cola/7', 'cola/7@2')
    """
    return item[:-2] if worded and item.endswith(WORDINGS) else item


def sheet(rows: Iterable[Scored], spec: TaskShape, *, worded: bool = True) -> Sheet:
    """The rows that measured something, as arrays. An error measured nothing, nor did what nobody could score."""
    import numpy as np

    ordered = sorted(rows, key=lambda row: (row.item, row.repeat))
    asked = {base_id(row.item, worded) for row in ordered}
    used = [row for row in ordered if measured(row, spec.kind)]
    bases = [base_id(row.item, worded) for row in used]
    times = Counter(bases)
    scale = math.lcm(*set(times.values()))
    owner: dict[str, tuple[str, str]] = {}
    for row, base in zip(used, bases, strict=True):
        owner.setdefault(base, _unit(row, base))
    places = {unit: place for place, unit in enumerate(sorted(set(owner.values())))}
    numbers = {base: number for number, base in enumerate(times)}
    return Sheet(
        rows=used,
        weight=np.array([scale // times[base] for base in bases], dtype=np.float64),
        item=np.array([numbers[base] for base in bases], dtype=np.int64),
        unit=np.array([places[owner[base]] for base in bases], dtype=np.float64),
        scale=scale,
        items=len(times),
        units=len(places),
        asked=len(asked),
        reason="" if used else _why_nothing(ordered),
        copies={places[unit]: unit[1] for unit in places if unit[0] == "copies"},
    )


def _unit(row: Scored, base: str) -> tuple[str, str]:
    """What a row's item is part of, of all that is independent."""
    if row.together is not None:
        return "copies", row.together
    return ("item", base) if row.cluster is None else ("cluster", row.cluster)


def measured(row: Scored, kind: str) -> bool:
    """Whether an asking says anything of the model, for a task of this kind."""
    if row.outcome is Outcome.ERROR:
        return False
    # Judges and functions score replies to which no right answer is known.
    return row.score is not None or (kind == "number" and row.target is not None)


def _why_nothing(rows: Sequence[Scored]) -> str:
    if not rows:
        return "no item was asked"
    if any(row.outcome in READ and row.target is None for row in rows):
        return "the targets of these items are hidden"
    if any(row.outcome is not Outcome.ERROR for row in rows):
        return "no reply was given a score"
    return "every item asked ended in an error"


def nothing(asked: int, reason: str) -> Estimate:
    """The estimate of what was not measured."""
    return Estimate(None, None, None, None, 0, asked, WILSON, reason)


def part(rows: Iterable[Scored], metric: str, spec: TaskShape, *, worded: bool) -> Sheet:
    """The rows that a metric is about: all, one half of them, or pairs of them as rows of their own."""
    if metric.startswith("accuracy_"):
        half = metric.removeprefix("accuracy_")
        return sheet((row for row in rows if row.half == half), spec, worded=worded)
    if metric == "gender_parity":
        return sheet(pairs(rows, worded=worded), spec, worded=worded)
    return sheet(rows, spec, worded=worded)


def pairs(rows: Iterable[Scored], *, worded: bool) -> list[Scored]:
    """One row for each two rows of a cluster that were asked alike: did they get the same answer?

    A pair of which one has an error, or was not asked, measured nothing.
    """
    found: dict[tuple[str, str, int], list[Scored]] = {}
    for row in rows:
        wording = row.item[len(base_id(row.item, worded)) :]
        found.setdefault((row.cluster or row.item, wording, row.repeat), []).append(row)
    made = []
    for (cluster, wording, repeat), members in found.items():
        whole = len(members) == 2 and all(measured(row, "labels") for row in members)
        same = gender_parity(*(row.answer for row in members)) if whole else None
        outcome = {None: Outcome.ERROR, 1.0: Outcome.CORRECT, 0.0: Outcome.WRONG}[same]
        if any(row.target is None for row in members):
            outcome = members[0].outcome  # hidden targets are no error
        key = f"{cluster}{wording}"
        made.append(replace(members[0], item=key, repeat=repeat, outcome=outcome, score=same, cluster=None))
    return made
