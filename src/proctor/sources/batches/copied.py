"""Requests with right answers that ask the same under several ids: found, told, and made one cluster."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from proctor.manifest import CopiedRows
from proctor.sources.batches import raw
from proctor.sources.batches.lines import RequestLine
from proctor.sources.exams.files.copies import alike, clustered

SAME = frozenset(
    {"model", "metadata", "user", "seed"}
)  # fields of a body that change nothing of what is asked


@dataclass(frozen=True, slots=True)
class CopiedRequests:
    """Line number -> cluster, of every request that has one where some are copies; the first two lines of a copy."""

    clusters: Mapping[int, str]
    counted: CopiedRows
    first: tuple[int, int]

    def __str__(self) -> str:
        one = self.counted.questions == 1
        stands = "1 question stands" if one else f"{self.counted.questions:,} questions stand"
        return (
            f"{stands} more than once ({self.counted.rows:,} requests; line {self.first[0]} and line "
            f"{self.first[1]}): copies are one cluster, so that they narrow no interval"
        )


class AskedLines:
    """What requests with right answers ask, 8 bytes each, in the order of the file."""

    def __init__(self) -> None:
        self._numbers, self._keys = array("Q"), array("q")
        self._names: list[str | None] = []

    def add(self, number: int, line: RequestLine) -> None:
        asked = {name: value for name, value in line.fields.items() if name not in SAME}
        digest = hashlib.blake2b(raw.canonical([line.url, alike(asked)]), digest_size=8).digest()
        self._numbers.append(number)
        self._keys.append(int.from_bytes(digest, "big", signed=True))
        self._names.append(line.cluster)

    def copies(self, left_out: Collection[int] = ()) -> CopiedRequests | None:
        """What stands more than once; lines that are no requests of the file are `left_out`, by number."""
        import numpy as np  # takes a while to load

        if len(self._keys) < 2:
            return None
        ranked = np.sort(np.frombuffer(self._keys, dtype=np.int64))
        if not (ranked[1:] == ranked[:-1]).any():
            return None
        kept = [place for place, number in enumerate(self._numbers) if number not in left_out]
        numbers = [self._numbers[place] for place in kept]
        keys, names = [self._keys[place] for place in kept], [self._names[place] for place in kept]
        found, told = clustered(keys, names, [frozenset()] * len(kept))
        if told is None:
            return None
        return CopiedRequests(
            {number: name for number, name in zip(numbers, found, strict=True) if name is not None},
            CopiedRows(told.questions, told.rows),
            (numbers[told.first[0]], numbers[told.first[1]]),
        )
