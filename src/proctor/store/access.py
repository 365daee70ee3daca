"""Who may do what, in which project, and who did what: keys, projects and the audit trail in the database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, select, update
from sqlalchemy.exc import IntegrityError

from proctor.errors import Conflict, NotFound
from proctor.store.schema import Database
from proctor.store.tables import API_KEY, AUDIT, PROJECT

SEEN_EVERY_S = 60.0  # `last_used_at` is not written for every request


@dataclass(frozen=True, slots=True)
class Project:
    id: int
    name: str
    created_at: float


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key without its secret; `prefix` is its beginning, to tell keys apart."""

    id: int
    user: str
    name: str
    prefix: str
    scopes: tuple[str, ...]
    created_at: float
    last_used_at: float | None
    revoked_at: float | None


@dataclass(frozen=True, slots=True)
class Deed:
    """Who did what to what, and when."""

    id: int
    at: float
    user: str
    action: str
    target: str
    detail: str


def project(store: Database, project_id: int) -> Project:
    """Raises NotFound."""
    with store.reading() as connection:
        row = connection.execute(select(PROJECT).where(PROJECT.c.id == project_id)).one_or_none()
    if row is None:
        raise NotFound(f"Project {project_id} not found")
    return Project(*row)


def projects(store: Database) -> list[Project]:
    with store.reading() as connection:
        return [Project(*row) for row in connection.execute(select(PROJECT).order_by(PROJECT.c.id))]


def add_project(store: Database, name: str, *, now: float) -> Project:
    """Raises Conflict if there is a project of this name."""
    new = PROJECT.insert().returning(*PROJECT.c)
    with store.writing() as connection:
        try:
            return Project(*connection.execute(new, {"name": name, "created_at": now}).one())
        except IntegrityError as error:
            raise Conflict(f"There is a project {name!r} already") from error


def add_key(store: Database, key: ApiKey, digest: str) -> ApiKey:
    """Keep a new key by its digest; `key.id` is given by the database."""
    row = {
        "user": key.user,
        "name": key.name,
        "prefix": key.prefix,
        "digest": digest,
        "scopes": ",".join(key.scopes),
        "created_at": key.created_at,
    }
    with store.writing() as connection:
        return _key(connection.execute(API_KEY.insert().returning(*API_KEY.c), row).one())


def keys(store: Database) -> list[ApiKey]:
    with store.reading() as connection:
        return [_key(row) for row in connection.execute(select(API_KEY).order_by(API_KEY.c.id))]


def key_of(store: Database, digest: str, *, now: float) -> ApiKey | None:
    """The key with this digest, unless it was revoked; notes that it was used."""
    with store.reading() as connection:
        row = connection.execute(select(API_KEY).where(API_KEY.c.digest == digest)).one_or_none()
    if row is None or row.revoked_at is not None:
        return None
    if row.last_used_at is None or now - row.last_used_at >= SEEN_EVERY_S:
        with store.writing() as connection:
            connection.execute(update(API_KEY).where(API_KEY.c.id == row.id).values(last_used_at=now))
    return _key(row)


def revoke_key(store: Database, key_id: int, *, now: float) -> ApiKey:
    """Raises NotFound; Conflict if it is revoked already."""
    revoked = (
        update(API_KEY)
        .where(API_KEY.c.id == key_id, API_KEY.c.revoked_at.is_(None))
        .values(revoked_at=now)
        .returning(*API_KEY.c)
    )
    with store.writing() as connection:
        row = connection.execute(revoked).one_or_none()
        if row is not None:
            return _key(row)
        if connection.execute(select(API_KEY.c.id).where(API_KEY.c.id == key_id)).one_or_none():
            raise Conflict(f"Key {key_id} is revoked already")
    raise NotFound(f"No key {key_id}")


def _key(row: Row[Any]) -> ApiKey:
    return ApiKey(
        id=row.id,
        user=row.user,
        name=row.name,
        prefix=row.prefix,
        scopes=tuple(row.scopes.split(",")),
        created_at=row.created_at,
        last_used_at=row.last_used_at,
        revoked_at=row.revoked_at,
    )


def note(store: Database, user: str, action: str, target: str, detail: str, *, now: float) -> None:
    """Write down who did what."""
    row = {"at": now, "user": user, "action": action, "target": target, "detail": detail}
    with store.writing() as connection:
        connection.execute(AUDIT.insert(), row)


def deeds(
    store: Database,
    *,
    user: str | None = None,
    action: str | None = None,
    before: int | None = None,
    limit: int = 100,
) -> list[Deed]:
    """Newest first; `before` is the id of the last one already seen."""
    query = select(AUDIT).order_by(AUDIT.c.id.desc()).limit(limit)
    if user is not None:
        query = query.where(AUDIT.c.user == user)
    if action is not None:
        query = query.where(AUDIT.c.action == action)
    if before is not None:
        query = query.where(AUDIT.c.id < before)
    with store.reading() as connection:
        return [Deed(*row) for row in connection.execute(query)]
