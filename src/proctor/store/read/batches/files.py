"""Where the files lie by which rows of a batch are found quickly: its columns, and the index of its words."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def folder(home: Path) -> Path:
    return home / "cache" / "batches"


def columns_path(home: Path, run_id: str) -> Path:
    return folder(home) / f"{run_id}.columns"


def words_path(home: Path, run_id: str) -> Path:
    return folder(home) / f"{run_id}.words"


def lock_path(home: Path, run_id: str) -> Path:
    """Held by whoever makes the files."""
    return folder(home) / f"{run_id}.lock"


def forget(home: Path, run_ids: Iterable[str]) -> None:
    """The files of runs that are deleted go too."""
    for run_id in run_ids:
        for path in (columns_path(home, run_id), words_path(home, run_id), lock_path(home, run_id)):
            with suppress(OSError):
                path.unlink(missing_ok=True)
