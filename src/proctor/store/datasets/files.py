"""The files of a data set on this machine: brought from the database into a folder that is their owner's alone.

They are brought where the store is at hand, by whoever names a data set or takes up a run of one; opening them
needs this machine alone.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from proctor.errors import DataMissing
from proctor.references import ExamRef
from proctor.settings import Settings
from proctor.store.core.schema import Database
from proctor.store.datasets import content


def brought(store: Database, digest: str, settings: Settings) -> Path:
    """The file of a content, or its TOML beside the others.

    What is here already is read and taken if it is what it should be. Raises: NotFound, StoreError.
    """
    folder = _folder(settings, digest)
    for each in content.files_of(store, digest):
        path = folder / each.filename
        if path.is_file() and path.stat().st_size == each.bytes and _sha256(path) == each.sha256:
            continue
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, made = tempfile.mkstemp(dir=room_for_uploads(settings))
        with os.fdopen(handle, "wb") as copy:
            for piece in content.pieces(store, each):
                copy.write(piece)
        Path(made).replace(path)
    return _main(folder)


def file_of(ref: ExamRef, settings: Settings) -> Path:
    """The file that a data set is opened by. Raises: DataMissing where nobody has brought it here."""
    folder = _folder(settings, ref.content or "none")
    if not folder.is_dir():
        raise DataMissing(f"The files of the data set {ref.name!r} are not on this machine")
    return _main(folder)


def _main(folder: Path) -> Path:
    """The TOML of a suite, or the only file."""
    files = sorted(folder.iterdir(), key=lambda path: (path.suffix.lower() != ".toml", path.name))
    return files[0]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def forget(digest: str, settings: Settings) -> None:
    """Delete the files of a content from this machine."""
    shutil.rmtree(_folder(settings, digest), ignore_errors=True)


def _folder(settings: Settings, digest: str) -> Path:
    return settings.home / "datasets" / digest


def room_for_uploads(settings: Settings) -> Path:
    """Where uploads are looked at: on the disk of PROCTOR_HOME, whose room is watched."""
    folder = settings.home / "datasets"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
