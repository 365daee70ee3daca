"""The order in which a source asks its items: seeded, spread over tasks and answers, nested.

Any beginning of the order is a fair sample of the whole, a larger sample holds every smaller one,
and the order depends on the rows alone, not on how they were stored.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol, TypeVar

from proctor.grading.formats import AnswerFormat
from proctor.sources.exams.tables.shapes import Task

Preset = Literal["quick", "standard", "full"]

# Totals over the tasks that were selected; None is everything.
PRESETS: Mapping[Preset, int | None] = {"quick": 200, "standard": 2000, "full": None}


class Stratified(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def task(self) -> str: ...

    @property
    def target(self) -> str | None: ...


R = TypeVar("R", bound=Stratified)


def by_task_and_target(row: Stratified) -> tuple[str, str]:
    return row.task, row.target or ""


# Targets that are nearly all different make few strata, or the few that return would lead the order.
LIKE: Mapping[AnswerFormat, Callable[[str], str]] = {
    "number": lambda target: str(round(float(target))),
    "letters": lambda target: str(len(target.split(","))) if target != "none" else "0",
    "text": lambda target: "",
    "entity": lambda target: "",
}


def like(kind: AnswerFormat, target: str | None) -> str:
    """What targets of one stratum have in common: the answer itself, its size or nothing."""
    if target is None:
        return ""
    return LIKE[kind](target) if kind in LIKE else target


def spread(rows: Sequence[R], tasks: Mapping[str, Task], *, seed: int = 0) -> list[R]:
    """The order of rows whose tasks are known."""
    kinds = {key: task.kind for key, task in tasks.items()}
    return order(rows, seed=seed, stratum=lambda row: (row.task, like(kinds[row.task], row.target)))


def order(
    rows: Sequence[R],
    *,
    seed: int = 0,
    stratum: Callable[[R], tuple[str, str]] = by_task_and_target,
) -> list[R]:
    """The rows in the order in which they are asked.

    In each stratum the rows stand by the SHA-256 of seed and id; row r of m (from 1) gets the key
    (r - 1/2) / m, and the keys of all strata are merged, ties by the same hash.
    """
    strata: dict[tuple[str, str], list[tuple[bytes, R]]] = defaultdict(list)
    for row in rows:
        luck = hashlib.sha256(f"{seed}|{row.id}".encode()).digest()
        strata[stratum(row)].append((luck, row))
    keyed = []
    for members in strata.values():
        members.sort(key=lambda pair: pair[0])
        size = len(members)
        keyed += [((rank + 0.5) / size, luck, row) for rank, (luck, row) in enumerate(members)]
    keyed.sort(key=lambda triple: triple[:2])
    return [row for _, _, row in keyed]


def take(ordered: Sequence[R], preset: Preset | None = None, limit: int | None = None) -> list[R]:
    """The first rows of an order: at most `limit` of each task, and the preset's total of what is left."""
    if limit is not None:
        seen: Counter[str] = Counter()
        kept = []
        for row in ordered:
            seen[row.task] += 1
            if seen[row.task] <= limit:
                kept.append(row)
        ordered = kept
    return list(ordered[: PRESETS[preset or "full"]])
