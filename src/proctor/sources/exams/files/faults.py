"""What is wrong with the rows of a user's file: gathered over the whole file and told at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from proctor.errors import DataError
from proctor.manifest import LeftOut

MOST_FAULTS = 20  # that one error lists; the rest is counted
MOST_PLACES = 20  # of one fault
HOW_TO_GO_ON = "Mend the file, or run it with --lenient (lenient=True in Python), which leaves bad rows out."

T = TypeVar("T")


class RowFault(Exception):
    """A value of a row that cannot be used. `column` is None where the row as a whole is meant."""

    def __init__(self, column: str | None, what: str) -> None:
        super().__init__(what)
        self.column = column
        self.what = what


class Placed(Protocol):
    """A record of the file, or what was read of it."""

    @property
    def index(self) -> int: ...

    @property
    def where(self) -> str: ...


P = TypeVar("P", bound=Placed)


class Faults:
    """The faults of one file. Rows are known by their index; a row may have several."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.may_go = True  # whether a lenient run does without bad rows of this file
        self.rows: set[int] = set()  # indices of rows that cannot be used
        self._broken: set[int] = set()  # of these, what could not even be parsed
        self._found: dict[tuple[str | None, str], dict[int, str]] = {}  # fault -> index -> where it stands
        self._whole: list[str] = []

    def broken(self, index: int, where: str, what: str) -> None:
        """A line of the file that is no record at all: nothing else is asked of it."""
        self.unreadable(index, where, None, what)

    def unreadable(self, index: int, where: str, column: str | None, what: str) -> None:
        """As `broken`, for a cell that makes its whole row one of which nothing else is asked."""
        self._broken.add(index)
        self._keep(index, where, column, what)

    def refuse(self, what: str) -> None:
        """A fault of the file as a whole, which leaving out rows does not mend."""
        self._whole.append(what)

    def each(self, rows: Iterable[P], read: Callable[[P], T]) -> list[T | None]:
        """What `read` makes of each row; None where it raises RowFault, which is kept."""
        made: list[T | None] = []
        broken = self._broken
        for row in rows:
            if row.index in broken:
                made.append(None)
                continue
            try:
                made.append(read(row))
            except RowFault as fault:
                self._keep(row.index, row.where, fault.column, fault.what)
                made.append(None)
        return made

    def _keep(self, index: int, where: str, column: str | None, what: str) -> None:
        self.rows.add(index)
        self._found.setdefault((column, what), {})[index] = where

    def settle(self, of: int, *, lenient: bool) -> LeftOut | None:
        """The rows to leave out, or None where there are none. `of` counts all rows of the file.

        Raises: DataError with every fault, unless they are of single rows and these may be left out.
        """
        if self._whole or (self.rows and not lenient) or (self.rows and len(self.rows) == of):
            raise DataError(self._told(of))
        if not self.rows:
            return None
        return LeftOut(len(self.rows), of, tuple(self._listed()))

    def each_found(self) -> Iterator[tuple[str, str | None, str]]:
        """Where each fault of a row stands, its column, and what it is, in the order of the rows."""
        found = [
            (index, where, column, what)
            for (column, what), rows in self._found.items()
            for index, where in rows.items()
        ]
        yield from (each[1:] for each in sorted(found, key=lambda each: each[0]))

    def _told(self, of: int) -> str:
        listed = self._listed()
        faults = [f"{self.name}: {what}" for what in self._whole]
        go_on = HOW_TO_GO_ON if self.may_go and len(self.rows) < of else "Mend the file."
        if self.rows:
            end = "" if listed[-1].endswith(".") else "."
            faults += listed if len(listed) > 1 else [f"{listed[0]}{end} {go_on}"]
        if len(faults) == 1:
            return faults[0]
        bad = f"{len(self.rows):,} of {of:,} rows cannot be used" if self.rows else "the file cannot be used"
        last = [f"  {go_on}"] if len(listed) > 1 else []
        return "\n".join([f"{self.name}: {bad}:", *(f"  {fault}" for fault in faults), *last])

    def _listed(self) -> list[str]:
        """A line for each fault, in the order of the rows it stands in first."""
        found = sorted(self._found.items(), key=lambda pair: min(pair[1]))
        lines = [_line(self.name, column, what, rows) for (column, what), rows in found[:MOST_FAULTS]]
        rest = {index for _, rows in found[MOST_FAULTS:] for index in rows}
        return [*lines, f"and {len(rest):,} more rows with other faults"] if rest else lines


def _line(name: str, column: str | None, what: str, rows: dict[int, str]) -> str:
    """One fault: where it stands first, what it is, and the places of the others."""
    first, *others = [rows[index] for index in sorted(rows)]
    place = f"{name}, {first}" if column is None else f"{name}, {first}, column {column!r}"
    said, semicolon, cure = what.partition("; ")
    return f"{place}: {said}{_further(others)}{semicolon}{cure}"


def _further(others: Sequence[str]) -> str:
    if not others:
        return ""
    named = ", ".join(others[:MOST_PLACES])
    more = ", ..." if len(others) > MOST_PLACES else ""
    rows = "row" if len(others) == 1 else "rows"
    return f" (and in {len(others):,} more {rows}: {named}{more})"


def left_out_of(parts: Sequence[LeftOut | None], total: int) -> LeftOut | None:
    """The rows that were left out of several files; None where none was. `total` counts all rows."""
    gone = [part for part in parts if part is not None]
    if not gone:
        return None
    faults = [fault for part in gone for fault in part.faults]
    rest = [f"and {len(faults) - MOST_FAULTS:,} more"] if len(faults) > MOST_FAULTS else []
    rows = sum(part.rows for part in gone)
    return LeftOut(rows, total, (*faults[:MOST_FAULTS], *rest))
