"""Notes and flags on answers: kept beside the score, never over it."""

from __future__ import annotations

import time

from proctor.errors import ConfigError
from proctor.service.admin import access
from proctor.service.context import Context
from proctor.store.write import notes
from proctor.store.write.notes import Note

__all__ = ["Note", "add", "marked", "of_item", "remove"]

LONGEST = 5_000


def add(
    context: Context, run_id: str, item_id: str, repeat: int, *, user: str, text: str, flag: bool
) -> Note:
    """Raises ConfigError for a note that says nothing or too much, NotFound for the run."""
    words = text.strip()
    if not words and not flag:
        raise ConfigError("A note needs words, or a flag")
    if len(words) > LONGEST:
        raise ConfigError(f"A note has at most {LONGEST:,} characters; this one has {len(words):,}")
    return notes.add(context.store, run_id, Note(0, item_id, repeat, user, time.time(), flag, words))


def remove(context: Context, run_id: str, note_id: int, *, by: str) -> None:
    """Raises NotFound."""
    notes.remove(context.store, run_id, note_id)
    access.note(context, by, "delete-note", run_id, str(note_id))


def marked(context: Context, run_id: str) -> dict[tuple[str, int], bool]:
    """(item id, repeat) -> whether it is flagged, for each answer that has a note."""
    return notes.marked(context.store, run_id)


def of_item(context: Context, run_id: str, item_id: str, repeat: int) -> list[Note]:
    """The oldest first. Raises NotFound for the run."""
    return notes.of_item(context.store, run_id, item_id, repeat)
