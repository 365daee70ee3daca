"""Browsers that have shown their key: a cookie's digest, the key it stands for, and until when."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from sqlalchemy import delete, select

from proctor.store.access import ApiKey
from proctor.store.schema import Database
from proctor.store.tables import API_KEY, SESSION

_NAMES = [each.name for each in fields(ApiKey)]
_KEY = [API_KEY.c[name] for name in _NAMES]


def open_session(store: Database, digest: str, key_id: int, *, now: float, until: float) -> None:
    """Keep a session; those that are over go."""
    row = {"digest": digest, "key_id": key_id, "created_at": now, "expires_at": until}
    with store.writing() as connection:
        connection.execute(delete(SESSION).where(SESSION.c.expires_at <= now))
        connection.execute(SESSION.insert(), row)


def key_of_session(store: Database, digest: str, *, now: float) -> ApiKey | None:
    """The key of a session that is not over, unless the key was revoked."""
    query = (
        select(*_KEY)
        .join(SESSION, SESSION.c.key_id == API_KEY.c.id)
        .where(SESSION.c.digest == digest, SESSION.c.expires_at > now, API_KEY.c.revoked_at.is_(None))
    )
    with store.reading() as connection:
        row = connection.execute(query).one_or_none()
    if row is None:
        return None
    values: list[Any] = list(row)
    scopes = _NAMES.index("scopes")
    values[scopes] = tuple(values[scopes].split(","))
    return ApiKey(*values)


def close_session(store: Database, digest: str) -> None:
    with store.writing() as connection:
        connection.execute(delete(SESSION).where(SESSION.c.digest == digest))
