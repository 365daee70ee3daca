"""What was said of the attempts that failed: their messages, read from their bodies, a bounded number at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson
from sqlalchemy import and_, func, select

from proctor.store.core import bodies
from proctor.store.core.attempts import Store
from proctor.store.core.latest import is_latest
from proctor.store.core.schema import Database
from proctor.store.core.tables import ATTEMPT, PAYLOAD, RUN
from proctor.types import Outcome


class Failed(NamedTuple):
    """An item whose latest attempt failed, and the message that was kept of it."""

    item_id: str
    message: str


def failed(store: Store, run_id: str, slug: str | None, *, limit: int) -> list[Failed]:
    """The first items, in the run's order, whose latest attempt failed in this way. Raises NotFound."""
    a, p = ATTEMPT.c, PAYLOAD.c
    same = and_(p.run_num == a.run_num, p.item_id == a.item_id, p.repeat == a.repeat, p.attempt == a.attempt)
    query = (
        select(a.item_id, p.body)
        .join(PAYLOAD, same)
        .where(
            a.run_num == store.number(run_id),
            a.outcome == Outcome.ERROR.value,
            a.error_slug == slug,
            is_latest(),
        )
        .order_by(a.position, a.repeat)
        .limit(limit)
    )
    with store.reading() as connection:
        rows = connection.execute(query).all()
    return [Failed(item_id, bodies.unpack(body).get("error") or "") for item_id, body in rows]


class FailureKind(NamedTuple):
    """How many items failed last with this HTTP status and slug."""

    status: int | None
    slug: str | None
    items: int


def kinds(store: Store, run_id: str) -> list[FailureKind]:
    """The failures of a run by status and slug, the commonest first; all are counted. Raises NotFound."""
    a = ATTEMPT.c
    count = func.count()
    query = (
        select(a.status, a.error_slug, count)
        .where(a.run_num == store.number(run_id), a.outcome == Outcome.ERROR.value, is_latest())
        .group_by(a.status, a.error_slug)
        .order_by(count.desc(), a.status, a.error_slug)
    )
    with store.reading() as connection:
        return [FailureKind(*row) for row in connection.execute(query)]


def told(store: Store, run_id: str, kind: FailureKind, *, limit: int) -> list[tuple[str, dict[str, Any]]]:
    """The first items that failed so, in the run's order, with what was kept of each. Raises NotFound."""
    a, p = ATTEMPT.c, PAYLOAD.c
    same = and_(p.run_num == a.run_num, p.item_id == a.item_id, p.repeat == a.repeat, p.attempt == a.attempt)
    query = (
        select(a.item_id, p.body)
        .join(PAYLOAD, same)
        .where(
            a.run_num == store.number(run_id),
            a.outcome == Outcome.ERROR.value,
            a.error_slug == kind.slug,
            a.status.is_not_distinct_from(kind.status),
            is_latest(),
        )
        .order_by(a.position, a.repeat)
        .limit(limit)
    )
    with store.reading() as connection:
        return [(item_id, bodies.unpack(body)) for item_id, body in connection.execute(query)]


def kept(store: Database, run_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The summaries of those of the runs that have one, by id."""
    query = select(RUN.c.id, RUN.c.summary).where(RUN.c.id.in_(run_ids), RUN.c.summary.is_not(None))
    with store.reading() as connection:
        return {row.id: orjson.loads(row.summary) for row in connection.execute(query)}
