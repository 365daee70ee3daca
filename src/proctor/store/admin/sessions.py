"""Browsers that have shown their key: a cookie's digest, the key it stands for, and until when."""

from __future__ import annotations

from sqlalchemy import delete, select

from proctor.store.admin.access import ApiKey, key_numbered
from proctor.store.core.schema import Database
from proctor.store.core.tables import API_KEY, SESSION


def open_session(store: Database, digest: str, key_id: int, *, now: float, until: float) -> None:
    """Keep a session; those that are over go."""
    row = {"digest": digest, "key_id": key_id, "created_at": now, "expires_at": until}
    with store.writing() as connection:
        connection.execute(delete(SESSION).where(SESSION.c.expires_at <= now))
        connection.execute(SESSION.insert(), row)


def key_of_session(store: Database, digest: str, *, now: float) -> ApiKey | None:
    """The key of a session that is not over, unless the key was revoked."""
    query = (
        select(API_KEY.c.id)
        .join(SESSION, SESSION.c.key_id == API_KEY.c.id)
        .where(SESSION.c.digest == digest, SESSION.c.expires_at > now, API_KEY.c.revoked_at.is_(None))
    )
    with store.reading() as connection:
        key_id = connection.execute(query).scalar_one_or_none()
        return None if key_id is None else key_numbered(connection, key_id)


def close_session(store: Database, digest: str) -> None:
    with store.writing() as connection:
        connection.execute(delete(SESSION).where(SESSION.c.digest == digest))
