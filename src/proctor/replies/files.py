"""Files of output lines of a batch: checked in one pass, then read by custom_id without being held in memory."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import overload

from proctor.errors import DataError
from proctor.replies.lines import MOST_FAULTS, BadLine, Recorded, bare, parse_line

MOST_KINDS = 50  # models and shapes that are told apart


class PackedIds(Sequence[str]):
    """Many ids as one row of bytes: a third of the room that as many texts take."""

    def __init__(self, ids: Iterable[str]) -> None:
        self._bytes, self._ends = bytearray(), array("Q", [0])
        for one in ids:
            self._bytes += one.encode("utf-8", "surrogatepass")
            self._ends.append(len(self._bytes))

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...

    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        if not 0 <= place < len(self):
            raise IndexError(place)
        return self._bytes[self._ends[place] : self._ends[place + 1]].decode("utf-8", "surrogatepass")


@dataclass(eq=False, slots=True)
class OutputFile:
    """What one or several files have to say of each request, made by `open_outputs`.

    In memory are the ids and where their lines begin: some 21 bytes a line beside the ids' own. `faults` are the first
    bad lines, of `bad`; `twice` counts lines whose custom_id another line has too.
    """

    paths: tuple[Path, ...]
    answered: int = 0
    failed: int = 0
    bad: int = 0
    twice: int = 0
    faults: list[str] = field(default_factory=list)
    models: Counter[str] = field(default_factory=Counter)
    shapes: Counter[str] = field(default_factory=Counter)
    ids: Sequence[str] = ()  # sorted, each once
    starts: array[int] = field(default_factory=lambda: array("Q"))  # of their lines, in the same order
    files: array[int] = field(default_factory=lambda: array("B"))  # which of the paths
    places: array[int] = field(default_factory=lambda: array("I"))  # which line of all, from 0

    def __len__(self) -> int:
        return len(self.ids)

    def walk(self, after: str = "") -> Iterator[tuple[str, Recorded]]:
        """Every request with what came of it, in the order of the ids."""
        return self._read(range(bisect_right(self.ids, after) if after else 0, len(self.ids)))

    def in_order(self) -> Iterator[tuple[str, Recorded]]:
        """The same in the order of the lines."""
        return self._read(sorted(range(len(self.ids)), key=self.places.__getitem__))

    def found(self, ids: Sequence[str]) -> Iterator[tuple[str, Recorded]]:
        """Those of the ids that the files have."""
        places = map(self.place_of, ids)
        return self._read([place for place in places if place is not None])

    def place_of(self, custom_id: str) -> int | None:
        """Where an id stands in `ids`."""
        place = bisect_left(self.ids, custom_id)
        return place if place < len(self.ids) and self.ids[place] == custom_id else None

    def _read(self, places: Sequence[int]) -> Iterator[tuple[str, Recorded]]:
        files = [path.open("rb") for path in self.paths]
        try:
            for place in places:
                file = files[self.files[place]]
                file.seek(self.starts[place])
                yield self.ids[place], parse_line(bare(file.readline()))
        finally:
            for file in files:
                file.close()

    def note_fault(self, where: str, why: str) -> None:
        self.bad += 1
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(f"{where}: {why}")


def open_outputs(paths: Sequence[Path]) -> OutputFile:
    """The lines of one output, in however many files: a batch's error file stands beside its output file.

    Where several lines have one custom_id, the last that was answered counts, else the last. A bad line is named
    and left out. Raises: DataError for a file that cannot be read, or holds no output line at all.
    """
    found = OutputFile(tuple(paths))
    ids: list[str] = []
    starts, files, kinds = array("Q"), array("B"), bytearray()
    for number, path in enumerate(paths):
        for start, line, where in _lines(path):
            try:
                recorded = parse_line(line)
            except BadLine as fault:
                found.note_fault(where, str(fault))
                continue
            if recorded.id is None:
                found.note_fault(where, "no custom_id")
                continue
            ids.append(recorded.id)
            starts.append(start)
            files.append(number)
            kinds.append(recorded.error is None)
            _count(found, recorded)
    _sort(found, ids, (starts, files), kinds)
    if not found.ids:
        why = f" ({found.faults[0]})" if found.faults else ""
        raise DataError(f"{', '.join(path.name for path in paths)}: no line of a batch's output{why}")
    return found


def _lines(path: Path) -> Iterator[tuple[int, bytes, str]]:
    """Where each line begins, the line, and how it is named in a message."""
    try:
        with path.open("rb") as file:
            start = 0
            for number in count(1):
                text = file.readline()
                if not text:
                    return
                if line := bare(text):
                    yield start, line, f"{path.name}, line {number}"
                start += len(text)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from None


def _count(found: OutputFile, recorded: Recorded) -> None:
    for counter, name in ((found.models, recorded.model), (found.shapes, recorded.shape)):
        if name and (name in counter or len(counter) < MOST_KINDS):
            counter[name] += 1


def _sort(found: OutputFile, ids: list[str], at: tuple[array[int], array[int]], kinds: bytearray) -> None:
    """The lines by their ids; of several with one id the one that counts."""
    starts, files = at
    for place in sorted(range(len(ids)), key=ids.__getitem__):
        custom_id, answered = ids[place], kinds[place]
        if found.places and ids[found.places[-1]] == custom_id:
            found.twice += 1
            if kinds[found.places[-1]] and not answered:
                continue
            found.answered -= kinds[found.places[-1]]
            found.failed -= not kinds[found.places[-1]]
            for column in (found.starts, found.files, found.places):
                column.pop()
        found.starts.append(starts[place])
        found.files.append(files[place])
        found.places.append(place)
        found.answered += answered
        found.failed += not answered
    found.ids = PackedIds(map(ids.__getitem__, found.places))
