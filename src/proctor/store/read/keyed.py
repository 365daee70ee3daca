"""Runs with the keys that tell what was asked of whom, without their manifests: what could have been compared."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import orjson
from sqlalchemy import or_, select

from proctor.store.core.look_tables import GONE
from proctor.store.core.schema import Database
from proctor.store.core.tables import PLAN, RUN
from proctor.types import Status


class KeyedRun(NamedTuple):
    """A run that has outcomes and can have a score. `cell` is JSON, see plan.cell_to_json."""

    id: str
    provider: str
    model: str
    status: str
    created_at: float
    finished_at: float | None
    comparability: str
    exam: str | None
    planned: int
    settled: int
    stopped: str | None
    cell: str

    @property
    def full_model(self) -> str:
        return f"{self.provider}/{self.model}"

    @property
    def complete(self) -> bool:
        return self.status == Status.COMPLETED and self.settled >= self.planned and not self.stopped


_COLUMNS = [RUN.c[name] for name in KeyedRun._fields]


def keyed_runs(
    store: Database, projects: Collection[int], *, sources: Collection[str], keys: Collection[str]
) -> list[KeyedRun]:
    """Those of these projects, newest first: of these sources, or with one of these keys of comparability."""
    meant = or_(RUN.c.source.in_(sorted(sources)), RUN.c.comparability.in_(sorted(keys)))
    query = (
        select(*_COLUMNS)
        .where(RUN.c.project_id.in_(sorted(projects)), meant)
        .where(RUN.c.comparability.is_not(None), RUN.c.settled > 0)
        .order_by(RUN.c.created_at.desc(), RUN.c.num.desc())
    )
    with store.reading() as connection:
        return [KeyedRun(*row) for row in connection.execute(query)]


class GoneRun(NamedTuple):
    """A complete run that was deleted, as it was told apart."""

    provider: str
    model: str
    comparability: str
    exam: str | None
    planned: int
    cell: str

    @property
    def full_model(self) -> str:
        return f"{self.provider}/{self.model}"


def gone_runs(store: Database, projects: Collection[int], keys: Collection[str]) -> list[GoneRun]:
    """Those of these projects with one of these keys of comparability."""
    query = select(*(GONE.c[name] for name in GoneRun._fields)).where(
        GONE.c.project_id.in_(sorted(projects)), GONE.c.comparability.in_(sorted(keys))
    )
    with store.reading() as connection:
        return [GoneRun(*row) for row in connection.execute(query)]


def projects_of(store: Database, run_ids: Collection[str]) -> frozenset[int]:
    """The projects of those runs that are here."""
    query = select(RUN.c.project_id).where(RUN.c.id.in_(sorted(run_ids))).distinct()
    with store.reading() as connection:
        return frozenset(connection.execute(query).scalars())


def plan_is_alone(store: Database, plan_id: str) -> bool:
    """Whether a plan said that its models alone count in its verdict."""
    with store.reading() as connection:
        body = connection.execute(select(PLAN.c.body).where(PLAN.c.id == plan_id)).scalar_one_or_none()
    return body is not None and bool(orjson.loads(body).get("only"))
