"""A row of the table: one parser, what it is given, and which errors it may answer with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from proctor.errors import ProctorError

Form = Literal["json", "lines", "text", "bytes"]
Foreseen = tuple[type[BaseException], ...]
REFUSALS: Foreseen = (ProctorError,)


@dataclass(frozen=True, slots=True)
class Room:
    """Where a parser may keep files: `folder` is its own and lies in memory where the machine has such a place."""

    folder: Path

    def file(self, name: str, body: bytes, mode: int = 0o600) -> Path:
        """A file of this name that holds `body`."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
        path.chmod(mode)
        return path


Read = Callable[[bytes], object]


@dataclass(frozen=True, slots=True)
class Parser:
    """`open` makes the function that reads one input; `form` says by what the seeds are changed.

    `share` is its part of all inputs beside others': less for what is slow by nature. `foreseen` are the errors by
    which it refuses an input; everything else that is raised is a finding. `apart`: the program gives such files to a process of its own with bounds
    of memory and time, so that the end of that process is a refusal as well.
    """

    name: str
    seeds: Callable[[], Sequence[bytes]]
    open: Callable[[Room], Read]
    form: Form = "text"
    share: float = 1.0
    foreseen: Foreseen = REFUSALS
    apart: bool = False


def reads(read: Callable[[bytes], object]) -> Callable[[Room], Read]:
    """A parser that needs no room."""
    return lambda _room: read


def words(read: Callable[[str], object]) -> Callable[[Room], Read]:
    """A parser of text that somebody before it has decoded."""
    return lambda _room: lambda body: read(body.decode("utf-8", "replace"))


def filed(read: Callable[[Path], object], name: str) -> Callable[[Room], Read]:
    """A parser that is given the path of a file of this name."""
    return lambda room: lambda body: read(room.file(name, body))
