"""Ids that stand more than once among a million: told by 16 bytes each, sorted at once, in place of a set of texts."""

from __future__ import annotations

from array import array
from collections.abc import Iterator


class SeenIds:
    """Ids in the order in which they came. Two hashes of 64 bits stand for each, so that no two differing ids meet."""

    def __init__(self) -> None:
        self._hashes = array("q")

    def add(self, ident: str) -> None:
        self._hashes.extend((hash(ident), hash(ident + "\0")))

    def __len__(self) -> int:
        return len(self._hashes) // 2

    def repeated(self) -> Iterator[tuple[int, int]]:
        """The places from 0 of ids that stood before, in order, each with the place where the id stood first."""
        import numpy as np  # takes a while to load, and most files have few lines

        pairs = np.frombuffer(self._hashes, dtype=np.int64).reshape(-1, 2)
        order = np.lexsort((pairs[:, 1], pairs[:, 0]))  # stable: of equal ones the first comes first
        ranked = pairs[order]
        again = np.zeros(len(order), dtype=bool)
        again[1:] = (ranked[1:] == ranked[:-1]).all(axis=1)
        if not again.any():
            return
        begins = np.maximum.accumulate(np.where(again, 0, np.arange(len(order))))
        places, firsts = order[again], order[begins[again]]
        by_place = np.argsort(places, kind="stable")
        yield from zip(places[by_place].tolist(), firsts[by_place].tolist(), strict=True)
