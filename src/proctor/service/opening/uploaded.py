"""The files of a data set on this machine: brought from the database into a folder that is their owner's alone."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from proctor.settings import Settings
from proctor.store import Store
from proctor.store.datasets import content


def materialised(store: Store, digest: str, settings: Settings) -> Path:
    """The file of a content, or its TOML beside the others.

    What is there already is read and taken if it is what it should be. Raises: NotFound, StoreError.
    """
    files = content.files_of(store, digest)
    folder = _folder(settings, digest)
    for each in files:
        path = folder / each.filename
        if path.is_file() and path.stat().st_size == each.bytes and _sha256(path) == each.sha256:
            continue
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, made = tempfile.mkstemp(dir=folder)
        with os.fdopen(handle, "wb") as copy:
            for piece in content.pieces(store, each):
                copy.write(piece)
        Path(made).replace(path)
    tomls = [each.filename for each in files if each.filename.lower().endswith(".toml")]
    return folder / (tomls or [files[0].filename])[0]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _folder(settings: Settings, digest: str) -> Path:
    return settings.home / "datasets" / digest


def forget(digest: str, settings: Settings) -> None:
    """Delete the files of a content from this machine."""
    shutil.rmtree(_folder(settings, digest), ignore_errors=True)


def room_for_uploads(settings: Settings) -> Path:
    """Where uploads are looked at: on the disk of PROCTOR_HOME, whose room is watched."""
    folder = settings.home / "datasets"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
