"""Files of requests on their way to other machines: put where all share, and fetched from there, by their hash."""

from __future__ import annotations

import logging
from contextlib import suppress

from proctor.errors import DataMissing, NotFound, SharedError
from proctor.settings import MB, Settings
from proctor.store.core.schema import Database
from proctor.store.datasets import entries, shelf
from proctor.store.shared.contract import Shared
from proctor.store.shared.opening import shared_of

LOG = logging.getLogger("proctor.shared")


def share(store: Database, settings: Settings, sha256: str) -> None:
    """Put a file that this machine took where others find it, unless it is too large for that place.

    A place that is out of reach is logged: this machine's own workers have the file, and the next run tries again.
    """
    shared, path = shared_of(settings, store), shelf.place(settings, sha256)
    if shared is None or not path.is_file() or not _fits(shared, path.stat().st_size):
        return
    try:
        shared.put(shelf.shared_name(sha256), path)
    except SharedError as error:
        LOG.warning("requests %s are on this machine alone: %s", sha256[:12], error)


def _fits(shared: Shared, size: int) -> bool:
    return shared.most_bytes is None or size <= shared.most_bytes


def lacking(store: Database, settings: Settings, name: str, sha256: str) -> str | None:
    """What keeps a file of requests from this machine, in words that follow "lacks". Raises: SharedError."""
    shared = shared_of(settings, store)
    if shelf.here(settings, sha256) or (shared and shared.has(shelf.shared_name(sha256))):
        return None
    most = shared.most_bytes if shared else None
    why = f" (larger than {most // MB} MB, they need PROCTOR_SHARED)" if most else ""
    return f"the requests of {name}{why}"


def fetch(store: Database, settings: Settings, name: str, sha256: str) -> None:
    """Have a file of requests here, fetched if need be; it is checked as it comes.

    Raises: NotFound where its data set was deleted, DataMissing where no place has it, SharedError for another file in
    its place or a place out of reach, DiskFull.
    """
    if shelf.here(settings, sha256):
        return
    shared = shared_of(settings, store)
    if shared is None or not shared.has(shelf.shared_name(sha256)):
        raise _away(store, settings, name, sha256)
    with shelf.arriving(settings) as room:
        for piece in shared.pieces(shelf.shared_name(sha256)):
            room.write(piece)
        room.settle()
        if room.sha256 != sha256:
            raise SharedError(
                f"{shared.told}: what lies there as {shelf.shared_name(sha256)} is another file "
                f"(SHA-256 {room.sha256[:12]}), or not all of it; nothing of it was kept. Delete it there"
            )
        copy = shelf.copy_place(settings, sha256)
        copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        room.path.replace(copy)


def drop(store: Database, settings: Settings, sha256: str) -> None:
    """Delete a file that no row names any more, here and where it is shared. Called while the shelf is `held`."""
    if not shelf.drop(store, settings, sha256):
        return
    shared = shared_of(settings, store)
    if shared is not None:
        with suppress(SharedError):  # what is left there is some room lost, and no more
            shared.drop(shelf.shared_name(sha256))


def _away(store: Database, settings: Settings, name: str, sha256: str) -> DataMissing | NotFound:
    if entries.with_content(store, sha256) is None:
        return NotFound(
            f"The requests of {name!r} are no longer here: their data set was deleted. Upload them again"
        )
    return DataMissing(
        f"The requests of {name!r} are not on this machine ({shelf.place(settings, sha256)}): they lie on the disk of "
        "the server that took them. Set PROCTOR_SHARED for both, start the worker there, or upload the file again here"
    )
