"""Bundles of parts where machines share: parts/<name>/<sha256>.zip, so that array jobs need no disk in common."""

from __future__ import annotations

import re
from pathlib import Path

from proctor.errors import ConfigError, DataError
from proctor.service.context import Context
from proctor.settings import MB
from proctor.store.shared.contract import Shared
from proctor.store.shared.opening import LOOKS, shared_of
from proctor.store.shared.packing import fetched

WORD = "shared:"  # begins the name of such parts, as `proctor merge` takes them
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@:+-]{0,199}")


def share_bundle(context: Context, path: Path, sha256: str, name: str) -> str:
    """Put a bundle where other machines find it, among those of this name; the place in words.

    Raises: ConfigError where there is no such place, or the name is none; SharedError.
    """
    shared = _place(context, name)
    if shared.most_bytes is not None and path.stat().st_size > shared.most_bytes:
        raise ConfigError(f"{path}: more than {shared.most_bytes // MB} MB need PROCTOR_SHARED ({LOOKS})")
    shared.put(f"{_prefix(name)}{sha256}.zip", path)
    return f"{shared.told}, as {name}"


def ended_runs(context: Context) -> tuple[str, ...]:
    """The ids of all runs of this store that have ended, the oldest first."""
    runs = context.store.runs(limit=None)
    return tuple(run.id for run in reversed(runs) if run.finished_at is not None)


def fetched_bundles(context: Context, word: str, into: Path) -> list[Path]:
    """The bundles of a name, fetched into a folder and checked. Raises: ConfigError, DataError, SharedError."""
    name = word.removeprefix(WORD)
    shared = _place(context, name)
    found = []
    for each in shared.names(_prefix(name)):
        path = into / each.rpartition("/")[2]
        fetched(shared, each, path, path.stem)
        found.append(path)
    if not found:
        raise DataError(
            f"{word}: {shared.told} has no bundles of this name (`proctor bundle --share {name}`)"
        )
    return found


def _prefix(name: str) -> str:
    return f"parts/{name}/"


def _place(context: Context, name: str) -> Shared:
    if not NAME.fullmatch(name):
        raise ConfigError(f"{name!r} is no name for shared bundles: letters, digits and . _ @ : + -")
    shared = shared_of(context.settings, context.store)
    if shared is None:
        raise ConfigError(f"There is no place that machines share: set PROCTOR_SHARED ({LOOKS})")
    return shared
