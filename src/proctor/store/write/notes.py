"""What people say of answers: notes and flags, kept beside the scores and never over them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import delete, func, select

from proctor.errors import NotFound
from proctor.store.core.attempts import Store
from proctor.store.core.bodies import clean
from proctor.store.core.tables import NOTE


@dataclass(frozen=True, slots=True)
class Note:
    """A person's words about one answer; `flag` marks it for another look. `at` is Unix time."""

    id: int
    item_id: str
    repeat: int
    user: str
    at: float
    flag: bool
    text: str


_COLUMNS = [NOTE.c[name] for name in ("id", "item_id", "repeat", "user", "at", "flag", "text")]


def add(store: Store, run_id: str, new: Note) -> Note:
    """Keep a note; its id is given here. Raises NotFound for the run."""
    row = {
        "run_num": store.number(run_id),
        "item_id": new.item_id,
        "repeat": new.repeat,
        "user": new.user,
        "at": new.at,
        "flag": new.flag,
        "text": clean(new.text),
    }
    with store.writing() as connection:
        return Note(*connection.execute(NOTE.insert().returning(*_COLUMNS), row).one())


def of_item(store: Store, run_id: str, item_id: str, repeat: int) -> list[Note]:
    """The oldest first. Raises NotFound for the run."""
    query = (
        select(*_COLUMNS)
        .where(NOTE.c.run_num == store.number(run_id), NOTE.c.item_id == item_id, NOTE.c.repeat == repeat)
        .order_by(NOTE.c.id)
    )
    with store.reading() as connection:
        return [Note(*row) for row in connection.execute(query)]


def remove(store: Store, run_id: str, note_id: int) -> None:
    """Raises NotFound."""
    gone = delete(NOTE).where(NOTE.c.id == note_id, NOTE.c.run_num == store.number(run_id))
    with store.writing() as connection:
        if connection.execute(gone).rowcount == 0:
            raise NotFound(f"No note {note_id} on this run")


def marked(store: Store, run_id: str) -> dict[tuple[str, int], bool]:
    """(item id, repeat) -> whether it is flagged, for each answer that has a note."""
    flags = func.max(func.coalesce(NOTE.c.flag.cast(NOTE.c.id.type), 0))
    query = (
        select(NOTE.c.item_id, NOTE.c.repeat, flags)
        .where(NOTE.c.run_num == store.number(run_id))
        .group_by(NOTE.c.item_id, NOTE.c.repeat)
    )
    with store.reading() as connection:
        return {(row[0], row[1]): bool(row[2]) for row in connection.execute(query)}
