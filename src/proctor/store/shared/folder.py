"""A folder that all machines mount, as the place of what they share."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from proctor.errors import SharedError

PIECE_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class SharedFolder:
    """Names are paths below `base`. A file on its way has a name that begins with a dot."""

    base: Path
    most_bytes: int | None = None

    @property
    def told(self) -> str:
        return str(self.base)

    def has(self, name: str) -> bool:
        self._need_base()
        return (self.base / name).is_file()

    def names(self, prefix: str) -> list[str]:
        self._need_base()
        with self._in_words():
            found = (path for path in (self.base / prefix).rglob("*") if path.is_file())
            return sorted(
                path.relative_to(self.base).as_posix() for path in found if not path.name.startswith(".")
            )

    def put(self, name: str, path: Path) -> None:
        place = self.base / name
        self._need_base()
        with self._in_words(), path.open("rb") as file:
            if place.is_file() and place.stat().st_size == path.stat().st_size:
                return
            place.parent.mkdir(parents=True, exist_ok=True)
            coming = place.with_name(f".{secrets.token_hex(8)}")
            try:
                with coming.open("xb") as copy:
                    shutil.copyfileobj(file, copy, PIECE_BYTES)
                    copy.flush()
                    os.fsync(copy.fileno())
                coming.replace(place)
            finally:
                coming.unlink(missing_ok=True)

    def pieces(self, name: str) -> Iterator[bytes]:
        with self._in_words(), (self.base / name).open("rb") as file:
            while piece := file.read(PIECE_BYTES):
                yield piece

    def drop(self, name: str) -> None:
        with self._in_words():
            (self.base / name).unlink(missing_ok=True)

    def _need_base(self) -> None:
        """A folder that is not mounted must not pass for an empty one."""
        if not self.base.is_dir():
            raise SharedError(
                f"{self.told} is not there (PROCTOR_SHARED): mount it on this machine, or make it"
            )

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise SharedError(f"{self.told} (PROCTOR_SHARED): {error.strerror or error}") from error
