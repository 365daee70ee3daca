"""The longest gapless prefix: what a run that stopped early may be scored on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Protocol, TypeVar


class InOrder(Protocol):
    """What has a place in a run's order."""

    @property
    def position(self) -> int: ...


P = TypeVar("P", bound=InOrder)


def gapless(rows: Iterable[P], planned: Iterable[int] | None = None) -> Iterator[P]:
    """The rows, which come by position, up to the first of the `planned` positions (None: all) that has none.

    Items are asked in a seeded order of which every prefix is a fair sample. What ended beyond the
    first gap ended because it was quick, so counting it would favour easy items.
    """
    due, at = iter(planned if planned is not None else count()), -1
    for row in rows:
        if row.position != at:
            at = row.position
            if at != next(due, None):
                return
        yield row
