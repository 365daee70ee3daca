"""Where files of one machine are kept for the others: what each place offers, whatever it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol


class Shared(Protocol):
    """Files by name, such as `requests/<sha256>`: never changed once they are there. All of it raises SharedError.

    `most_bytes` is how large a file may be, None where it may have any size.
    """

    @property
    def told(self) -> str:
        """The place in words, for people; without keys."""

    @property
    def most_bytes(self) -> int | None: ...

    def has(self, name: str) -> bool: ...

    def names(self, prefix: str) -> list[str]:
        """Those that begin so, in order; `prefix` ends in a slash."""

    def put(self, name: str, path: Path) -> None:
        """All of it or nothing; the same again changes nothing."""

    def pieces(self, name: str) -> Iterator[bytes]:
        """The bytes, piece by piece."""

    def drop(self, name: str) -> None:
        """What is not there is dropped already."""
