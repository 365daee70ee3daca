"""Documents given away by a link: kept by the hash of the link's token, until the day on which they end.

Rows are of no one project, so they are read whole: service/giving holds them to whoever asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import zstandard
from sqlalchemy import func, select, update

from proctor.errors import NotFound
from proctor.store.core.schema import Database
from proctor.store.core.share_tables import SHARE

LEVEL = 9  # made once, by hand; read often
NOTHING = b""


@dataclass(frozen=True, slots=True)
class SharedPage:
    """What is known of a share without its document. `projects` None is all there are; times are Unix seconds."""

    id: str
    kind: str
    title: str
    address: str
    projects: frozenset[int] | None
    user: str
    created_at: float
    expires_at: float
    revoked_at: float | None = None
    seen: int = 0
    last_seen_at: float | None = None


_KNOWN = [column for column in SHARE.c if column.name not in ("digest", "body")]


def add(store: Database, share: SharedPage, digest: str, html: str) -> None:
    """Keep a document by its token's digest. The bodies of those that have ended go."""
    projects = "" if share.projects is None else ",".join(map(str, sorted(share.projects)))
    row = {
        **{column.name: getattr(share, column.name) for column in _KNOWN},
        "projects": projects,
        "digest": digest,
        "body": zstandard.ZstdCompressor(level=LEVEL).compress(html.encode()),
    }
    over = update(SHARE).where(SHARE.c.expires_at <= share.created_at).values(body=NOTHING)
    with store.whole.writing() as connection:
        connection.execute(over)
        connection.execute(SHARE.insert(), row)


def opened(store: Database, digest: str, *, now: float) -> tuple[SharedPage, str] | None:
    """The share with this digest and its document, counted as seen; None if it has ended, or there is none."""
    there = (SHARE.c.digest == digest, SHARE.c.expires_at > now, SHARE.c.revoked_at.is_(None))
    with store.whole.reading() as connection:
        row = connection.execute(select(*_KNOWN, SHARE.c.body).where(*there)).mappings().one_or_none()
    if row is None:
        return None
    with store.whole.writing() as connection:
        seen = {"seen": SHARE.c.seen + 1, "last_seen_at": now}
        connection.execute(update(SHARE).where(*there).values(seen))
    return _share(row), zstandard.ZstdDecompressor().decompress(row["body"]).decode()


def listed(store: Database, user: str | None = None) -> list[SharedPage]:
    """Those of a user, or of all, the newest first."""
    query = select(*_KNOWN).order_by(SHARE.c.created_at.desc())
    if user is not None:
        query = query.where(SHARE.c.user == user)
    with store.whole.reading() as connection:
        return [_share(row) for row in connection.execute(query).mappings()]


def alive(store: Database, user: str, *, now: float) -> int:
    """How many shares of a user have not ended."""
    query = (
        select(func.count())
        .select_from(SHARE)
        .where(SHARE.c.user == user, SHARE.c.expires_at > now, SHARE.c.revoked_at.is_(None))
    )
    with store.whole.reading() as connection:
        return int(connection.execute(query).scalar_one())


def found(store: Database, ident: str) -> SharedPage:
    """Raises NotFound."""
    with store.whole.reading() as connection:
        row = connection.execute(select(*_KNOWN).where(SHARE.c.id == ident)).mappings().one_or_none()
    if row is None:
        raise NotFound(f"No share {ident}")
    return _share(row)


def revoke(store: Database, ident: str, *, now: float) -> None:
    """End a share for good; one that has ended already stays as it is."""
    ended = update(SHARE).where(SHARE.c.id == ident, SHARE.c.revoked_at.is_(None))
    with store.whole.writing() as connection:
        connection.execute(ended.values(revoked_at=now, body=NOTHING))


def _share(row: Mapping[Any, Any]) -> SharedPage:
    told = {column.name: row[column.name] for column in _KNOWN}
    projects = frozenset(map(int, told["projects"].split(","))) if told["projects"] else None
    return SharedPage(**{**told, "projects": projects})
