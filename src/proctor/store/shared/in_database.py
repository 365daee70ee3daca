"""The database as the place of what machines share, where there is no address for it: for files that are not large."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from proctor.settings import MB
from proctor.store.core.schema import Database
from proctor.store.datasets import content

MOST_BYTES = 100 * MB


@dataclass(frozen=True, slots=True)
class SharedInDatabase:
    """Files by name in `dataset_file`, their bytes packed beside those of uploaded questions."""

    store: Database
    told: str = "the database"
    most_bytes: int | None = MOST_BYTES

    def has(self, name: str) -> bool:
        return content.shared_file(self.store, name) is not None

    def names(self, prefix: str) -> list[str]:
        return content.shared_names(self.store, prefix)

    def put(self, name: str, path: Path) -> None:
        if not self.has(name):
            with path.open("rb") as file:
                content.keep_shared(self.store, name, file)

    def pieces(self, name: str) -> Iterator[bytes]:
        found = content.shared_file(self.store, name)
        if found is not None:
            yield from content.pieces(self.store, found)

    def drop(self, name: str) -> None:
        content.drop_shared(self.store, name)
