"""Complete runs with what tells them apart as tries of one comparison, and without their manifests."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import or_, select

from proctor.store.core.schema import Database
from proctor.store.core.tables import RUN
from proctor.types import Status


class CompleteRun(NamedTuple):
    """A completed run that lacks nothing and can have a score. `cell` is JSON, see plan.cell_to_json."""

    id: str
    provider: str
    model: str
    created_at: float
    comparability: str
    exam: str | None
    planned: int
    cell: str

    @property
    def full_model(self) -> str:
        return f"{self.provider}/{self.model}"


def complete_runs(
    store: Database, projects: Collection[int], *, comparability: str | None = None, source: str | None = None
) -> list[CompleteRun]:
    """Those of these projects, newest first; of one key of comparability, or of one source."""
    query = (
        select(*(RUN.c[name] for name in CompleteRun._fields))
        .where(
            RUN.c.status == Status.COMPLETED.value,
            RUN.c.settled >= RUN.c.planned,
            or_(RUN.c.stopped.is_(None), RUN.c.stopped == ""),
            RUN.c.comparability.is_not(None),
            RUN.c.project_id.in_(sorted(projects)),
        )
        .order_by(RUN.c.created_at.desc(), RUN.c.num.desc())
    )
    if comparability is not None:
        query = query.where(RUN.c.comparability == comparability)
    if source is not None:
        query = query.where(RUN.c.source == source)
    with store.reading() as connection:
        return [CompleteRun(*row) for row in connection.execute(query)]


def projects_of(store: Database, run_ids: Collection[str]) -> frozenset[int]:
    """The projects of those runs that are here."""
    query = select(RUN.c.project_id).where(RUN.c.id.in_(sorted(run_ids))).distinct()
    with store.reading() as connection:
        return frozenset(connection.execute(query).scalars())
