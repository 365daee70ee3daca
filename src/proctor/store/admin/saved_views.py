"""Filters of lists that people keep by a name: each sees their own."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import delete, func, select

from proctor.store.core.schema import Database
from proctor.store.core.share_tables import SAVED_VIEW


@dataclass(frozen=True, slots=True)
class SavedView:
    """A list's filters as `query` of its address; `project_id` None is of no one project. Times are Unix seconds."""

    id: int
    user: str
    project_id: int | None
    page: str
    name: str
    query: str
    created_at: float


def listed(store: Database, user: str, page: str) -> list[SavedView]:
    """A user's, by their names."""
    query = (
        select(SAVED_VIEW)
        .where(SAVED_VIEW.c.user == user, SAVED_VIEW.c.page == page)
        .order_by(SAVED_VIEW.c.name)
    )
    with store.whole.reading() as connection:
        return [SavedView(*row) for row in connection.execute(query)]


def count(store: Database, user: str) -> int:
    query = select(func.count()).select_from(SAVED_VIEW).where(SAVED_VIEW.c.user == user)
    with store.whole.reading() as connection:
        return int(connection.execute(query).scalar_one())


def put(store: Database, view: SavedView) -> None:
    """Keep a view; one of the same user, page and name is written over. Its id is given by the database."""
    row = {
        name: getattr(view, name) for name in ("user", "project_id", "page", "name", "query", "created_at")
    }
    insert = store.insert(SAVED_VIEW)
    changed = {name: insert.excluded[name] for name in ("project_id", "query", "created_at")}
    with store.whole.writing() as connection:
        connection.execute(
            insert.on_conflict_do_update(index_elements=["user", "page", "name"], set_=changed), row
        )


def remove(store: Database, user: str, view_id: int) -> bool:
    """False where the user has no such view."""
    gone = delete(SAVED_VIEW).where(SAVED_VIEW.c.id == view_id, SAVED_VIEW.c.user == user)
    with store.whole.writing() as connection:
        return connection.execute(gone).rowcount > 0
