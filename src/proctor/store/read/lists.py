"""Lists of runs without their manifests: what tables of thousands of runs are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, func, or_, select

from proctor.errors import NotFound
from proctor.findings.looks import DECIDED
from proctor.store.core.schema import Database
from proctor.store.core.tables import JOB, RUN
from proctor.types import Status


class RunLine(NamedTuple):
    """One run in a list. Times are Unix seconds."""

    id: str
    status: str
    provider: str
    model: str
    source: str
    created_at: float
    finished_at: float | None
    planned: int
    settled: int
    project_id: int
    error: str | None
    sample: bool
    comparability: str | None
    stopped: str | None
    source_title: str = ""
    exam: str | None = None

    @property
    def full_model(self) -> str:
        return f"{self.provider}/{self.model}"

    @property
    def partial(self) -> bool:
        return self.settled < self.planned or bool(self.stopped)

    @property
    def decided(self) -> bool:
        """Ended before its last item because the verdict was decided: as it was asked to, so nothing is missing."""
        return (
            self.status == Status.COMPLETED and bool(self.stopped) and str(self.stopped).startswith(DECIDED)
        )

    @property
    def unmeasured(self) -> int:
        """How many of its planned items an ended run has no outcome for: errors, and what was not asked."""
        return 0 if self.finished_at is None else max(0, self.planned - self.settled)

    @property
    def complete(self) -> bool:
        return self.status == Status.COMPLETED and not self.partial


class RunFilter(NamedTuple):
    """Which runs a list is of; None is any. `model` is a name with or without its provider.

    `ranked` leaves out batches without right answers, which have no score.
    """

    model: str | None = None
    source: str | None = None
    status: Status | None = None
    project_id: int | None = None
    since: float | None = None
    sample: bool | None = None
    graded: bool = False  # those alone that can have scores


COLUMNS = [RUN.c[name] for name in RunLine._fields]


def run_lines(store: Database, wanted: RunFilter, *, limit: int | None = 20) -> tuple[list[RunLine], int]:
    """The newest runs, and how many there are in all."""
    query = where(select(*COLUMNS), wanted).order_by(RUN.c.created_at.desc(), RUN.c.num.desc()).limit(limit)
    with store.reading() as connection:
        rows = [RunLine(*row) for row in connection.execute(query)]
        if limit is None or len(rows) < limit:
            return rows, len(rows)
        total: int = connection.execute(where(select(func.count()).select_from(RUN), wanted)).scalar_one()
        return rows, total


def newest(store: Database, wanted: RunFilter) -> RunLine | None:
    """The newest run alone; how many there are is not counted."""
    query = where(select(*COLUMNS), wanted).order_by(RUN.c.created_at.desc(), RUN.c.num.desc()).limit(1)
    with store.reading() as connection:
        row = connection.execute(query).one_or_none()
    return None if row is None else RunLine(*row)


def before(store: Database, run_id: str) -> tuple[RunLine, RunLine] | None:
    """A complete run, and the complete one before it that the same model was asked; None where there is none."""
    later, earlier = RUN.alias("later"), RUN
    same = [earlier.c[name] == later.c[name] for name in ("provider", "model", "comparability")]
    same.append(earlier.c.exam.is_not_distinct_from(later.c.exam))
    query = (
        select(*COLUMNS, *(later.c[name] for name in RunLine._fields))
        .join(later, and_(*same, earlier.c.created_at < later.c.created_at))
        .where(later.c.id == run_id, *(clause for table in (later, earlier) for clause in complete(table)))
        .order_by(earlier.c.created_at.desc(), earlier.c.num.desc())
        .limit(1)
    )
    with store.reading() as connection:
        row = connection.execute(query).one_or_none()
    width = len(COLUMNS)
    return None if row is None else (RunLine(*row[width:]), RunLine(*row[:width]))


def complete(of: Any = RUN) -> list[ColumnElement[bool]]:
    """That a run is completed and lacks nothing."""
    return [
        of.c.status == Status.COMPLETED.value,
        of.c.settled >= of.c.planned,
        of.c.stopped.is_(None),
        of.c.comparability.is_not(None),
    ]


def exists(store: Database, wanted: RunFilter) -> bool:
    """Whether there is such a run; the quickest of all questions about a list."""
    query = where(select(RUN.c.num), wanted).limit(1)
    with store.reading() as connection:
        return connection.execute(query).one_or_none() is not None


def jobs_among(store: Database, run_ids: Sequence[str]) -> frozenset[str]:
    """Which of the runs are jobs of the server; the others are the command line's."""
    query = select(RUN.c.id).join(JOB, JOB.c.run_num == RUN.c.num).where(RUN.c.id.in_(run_ids))
    with store.reading() as connection:
        return frozenset(connection.execute(query).scalars())


def where(query: Select[Any], wanted: RunFilter) -> Select[Any]:
    if wanted.model is not None:
        provider, slash, name = wanted.model.partition("/")
        query = query.where(
            or_(RUN.c.model == wanted.model, (RUN.c.provider == provider) & (RUN.c.model == name))
            if slash
            else RUN.c.model == wanted.model
        )
    for column, value in (
        (RUN.c.source, wanted.source),
        (RUN.c.status, None if wanted.status is None else wanted.status.value),
        (RUN.c.project_id, wanted.project_id),
        (RUN.c.sample, wanted.sample),
    ):
        if value is not None:
            query = query.where(column == value)
    if wanted.since is not None:
        query = query.where(RUN.c.created_at >= wanted.since)
    if wanted.graded:
        query = query.where(RUN.c.comparability.is_not(None))
    return query


def project_of(store: Database, run_id: str) -> int:
    """Raises NotFound."""
    with store.reading() as connection:
        found = connection.execute(select(RUN.c.project_id).where(RUN.c.id == run_id)).scalar_one_or_none()
    if found is None:
        raise NotFound(f"No run {run_id}")
    return int(found)


def states(store: Database) -> dict[str, int]:
    """How many runs are in each state."""
    with store.reading() as connection:
        counted = connection.execute(select(RUN.c.status, func.count()).group_by(RUN.c.status))
        found = {row[0]: row[1] for row in counted}
    return {status.value: found.get(status.value, 0) for status in Status}


def mark(store: Database, project_id: int | None = None) -> tuple[Any, ...]:
    """Something that is another after any run (of a project) was made, ended, taken up again or deleted."""
    query = select(func.count(), func.max(RUN.c.num))
    if project_id is not None:
        query = query.where(RUN.c.project_id == project_id)
    with store.reading() as connection:
        there = tuple(connection.execute(query).one())
    return (*there, *ended_mark(store, RunFilter(project_id=project_id)))


def ended_mark(store: Database, of: RunFilter) -> tuple[Any, ...]:
    """Something that is another after such a run has ended, was taken up again, or was deleted; not as runs go on.

    Of the filter count the source, the project, and the model's name. One index has all of it.
    """
    columns = (func.count(), func.max(RUN.c.finished_at), func.sum(RUN.c.settled))
    query = select(*columns).where(RUN.c.finished_at.is_not(None))
    plain = None if of.model and "/" in of.model else of.model  # with its provider it may be a name too
    for column, value in ((RUN.c.source, of.source), (RUN.c.model, plain), (RUN.c.project_id, of.project_id)):
        if value is not None:
            query = query.where(column == value)
    with store.reading() as connection:
        return tuple(connection.execute(query).one())
