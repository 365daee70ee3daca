"""Who may do what, in which project, and who did what: keys, projects and the audit trail in the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, select, update
from sqlalchemy.exc import IntegrityError

from proctor.errors import Conflict, NotFound
from proctor.store.core.schema import Database
from proctor.store.core.tables import API_KEY, AUDIT, KEY_PROJECT, PROJECT, RUN

SEEN_EVERY_S = 60.0  # `last_used_at` is not written for every request


@dataclass(frozen=True, slots=True)
class Project:
    id: int
    name: str
    created_at: float


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key without its secret; `prefix` is its beginning, to tell keys apart. `projects` are those it names, by id."""

    id: int
    user: str
    name: str
    prefix: str
    scopes: tuple[str, ...]
    created_at: float
    last_used_at: float | None
    revoked_at: float | None
    projects: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Deed:
    """Who did what to what, and when; `project_id` is None for what is the server's."""

    id: int
    at: float
    user: str
    action: str
    target: str
    detail: str
    project_id: int | None = None


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
    """Keep a new key by its digest; `key.id` is given by the database. Raises NotFound for an unknown project."""
    row = {
        "user": key.user,
        "name": key.name,
        "prefix": key.prefix,
        "digest": digest,
        "scopes": ",".join(key.scopes),
        "created_at": key.created_at,
    }
    with store.writing() as connection:
        kept = connection.execute(API_KEY.insert().returning(*API_KEY.c), row).one()
        _name_projects(connection, kept.id, key.projects)
        return _key(connection, kept)


def set_projects(store: Database, key_id: int, project_ids: Sequence[int]) -> ApiKey:
    """Let the key name these projects from now on, and no other. Raises NotFound for the key or a project."""
    with store.writing() as connection:
        row = connection.execute(select(API_KEY).where(API_KEY.c.id == key_id)).one_or_none()
        if row is None:
            raise NotFound(f"No key {key_id}")
        connection.execute(delete(KEY_PROJECT).where(KEY_PROJECT.c.key_id == key_id))
        _name_projects(connection, key_id, project_ids)
        return _key(connection, row)


def _name_projects(connection: Connection, key_id: int, project_ids: Sequence[int]) -> None:
    known = set(connection.execute(select(PROJECT.c.id).where(PROJECT.c.id.in_(project_ids))).scalars())
    if unknown := [number for number in project_ids if number not in known]:
        raise NotFound(f"Project {unknown[0]} not found")
    if known:
        connection.execute(
            KEY_PROJECT.insert(), [{"key_id": key_id, "project_id": number} for number in sorted(known)]
        )


def keys(store: Database) -> list[ApiKey]:
    with store.reading() as connection:
        return [
            _key(connection, row) for row in connection.execute(select(API_KEY).order_by(API_KEY.c.id)).all()
        ]


def key_of(store: Database, digest: str, *, now: float) -> ApiKey | None:
    """The key with this digest, unless it was revoked; notes that it was used."""
    with store.reading() as connection:
        row = connection.execute(select(API_KEY).where(API_KEY.c.digest == digest)).one_or_none()
        if row is None or row.revoked_at is not None:
            return None
        found = _key(connection, row)
    if row.last_used_at is None or now - row.last_used_at >= SEEN_EVERY_S:
        with store.writing() as connection:
            connection.execute(update(API_KEY).where(API_KEY.c.id == row.id).values(last_used_at=now))
    return found


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
            return _key(connection, row)
        if connection.execute(select(API_KEY.c.id).where(API_KEY.c.id == key_id)).one_or_none():
            raise Conflict(f"Key {key_id} is revoked already")
    raise NotFound(f"No key {key_id}")


def key_numbered(connection: Connection, key_id: int) -> ApiKey:
    return _key(connection, connection.execute(select(API_KEY).where(API_KEY.c.id == key_id)).one())


def _key(connection: Connection, row: Row[Any]) -> ApiKey:
    named = select(KEY_PROJECT.c.project_id).where(KEY_PROJECT.c.key_id == row.id)
    return ApiKey(
        id=row.id,
        user=row.user,
        name=row.name,
        prefix=row.prefix,
        scopes=tuple(row.scopes.split(",")),
        created_at=row.created_at,
        last_used_at=row.last_used_at,
        revoked_at=row.revoked_at,
        projects=tuple(connection.execute(named.order_by(KEY_PROJECT.c.project_id)).scalars()),
    )


def note(store: Database, deed: Deed) -> None:
    """Write down who did what; its id is given here. What was done to a run was done in the run's project."""
    row = {
        "at": deed.at,
        "user": deed.user,
        "action": deed.action,
        "target": deed.target,
        "detail": deed.detail,
    }
    of_run = select(RUN.c.project_id).where(RUN.c.id == deed.target).scalar_subquery()
    project = of_run if deed.project_id is None else deed.project_id
    with store.whole.writing() as connection:
        connection.execute(AUDIT.insert().values(**row, project_id=project))


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
