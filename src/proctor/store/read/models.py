"""What is known of each model from what its runs kept when they ended: one look at the runs, one at their scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson
from sqlalchemy import JSON, ColumnElement, case, cast, func, select, type_coerce

from proctor.store.core.schema import Database
from proctor.store.core.tables import RUN, SCORE
from proctor.store.read.history import COMPLETE
from proctor.types import Status


class ModelTotals(NamedTuple):
    """All runs of a model. `cost_usd` is of the `priced` runs that tell one, over their `priced_items` items.

    `measured` is the number of its newest run that kept a summary; None where none has.
    """

    provider: str
    model: str
    runs: int
    at_work: int
    last_at: float
    cost_usd: float | None
    priced: int
    priced_items: int
    measured: int | None

    @property
    def full_model(self) -> str:
        return f"{self.provider}/{self.model}"


class ModelScore(NamedTuple):
    """The headline of a model's latest complete run of a source, of those whose scores compare: `comparability`.

    `usual` is for whoever puts scores of several groups into one list: whether it is of the group that most share.
    """

    provider: str
    model: str
    source: str
    comparability: str
    sample: bool
    run_id: str
    finished_at: float
    metric: str
    value: float | None
    low: float | None
    high: float | None
    scored: int
    usual: bool = True

    @property
    def full_model(self) -> str:
        return f"{self.provider}/{self.model}"


class ModelRunRow(NamedTuple):
    """A run in its model's list, with its headline and its kept summary; None where it has none."""

    id: str
    status: str
    source: str
    source_title: str
    cell: str
    comparability: str | None
    exam: str | None
    sample: bool
    planned: int
    settled: int
    stopped: str | None
    created_at: float
    finished_at: float | None
    elapsed_s: float
    summary: dict[str, Any] | None
    metric: str | None
    value: float | None
    low: float | None
    high: float | None
    scored: int | None


_HEADLINE = [SCORE.c[name] for name in ("metric", "value", "low", "high", "scored")]
_OF_RUN = [RUN.c[name] for name in ModelRunRow._fields[: ModelRunRow._fields.index("metric")]]
_AT_WORK = (Status.RUNNING.value, Status.PENDING.value)


def totals(store: Database) -> list[ModelTotals]:
    """Every model that has runs, by name; one statement."""
    cost = _cost(store)
    query = select(
        RUN.c.provider,
        RUN.c.model,
        func.count(),
        func.count(case((RUN.c.status.in_(_AT_WORK), 1))),
        func.max(func.coalesce(RUN.c.finished_at, RUN.c.created_at)),
        func.sum(cost),
        func.count(cost),
        func.coalesce(func.sum(case((cost.is_not(None), RUN.c.settled))), 0),
        func.max(case((RUN.c.summary.is_not(None) & (RUN.c.settled > 0), RUN.c.num))),
    ).group_by(RUN.c.provider, RUN.c.model)
    with store.reading() as connection:
        return [ModelTotals(*row) for row in connection.execute(query.order_by(RUN.c.provider, RUN.c.model))]


def _cost(store: Database) -> ColumnElement[float]:
    """What a run cost, in its kept summary; null where nothing was told."""
    on_postgres = store.engine.name == "postgresql"
    summary = cast(RUN.c.summary, JSON) if on_postgres else type_coerce(RUN.c.summary, JSON)
    cost: ColumnElement[float] = summary[("tally", "cost_usd")].as_float()
    return cost


def best(store: Database) -> list[ModelScore]:
    """Of each model, source and kind of exam the latest complete run's headline; one statement."""
    latest = (
        select(func.max(RUN.c.num))
        .where(*COMPLETE, RUN.c.comparability.is_not(None))
        .group_by(RUN.c.provider, RUN.c.model, RUN.c.source, RUN.c.comparability, RUN.c.sample)
    )
    columns = [RUN.c[name] for name in ("provider", "model", "source", "comparability", "sample", "id")]
    query = (
        select(*columns, RUN.c.finished_at, *_HEADLINE)
        .join(SCORE, SCORE.c.run_num == RUN.c.num)
        .where(RUN.c.num.in_(latest), SCORE.c.place == 0, SCORE.c.value.is_not(None))
    )
    with store.reading() as connection:
        return [ModelScore._make((*row, True)) for row in connection.execute(query)]


def summaries(store: Database, numbers: Sequence[int]) -> dict[int, dict[str, Any]]:
    """What these runs kept, by number."""
    query = select(RUN.c.num, RUN.c.summary).where(RUN.c.num.in_(numbers), RUN.c.summary.is_not(None))
    with store.reading() as connection:
        return {row[0]: orjson.loads(row[1]) for row in connection.execute(query)}


def runs(store: Database, provider: str, model: str, *, limit: int) -> list[ModelRunRow]:
    """The newest runs of a model, of every kind; one statement."""
    query = (
        select(*_OF_RUN, *_HEADLINE)
        .outerjoin(SCORE, (SCORE.c.run_num == RUN.c.num) & (SCORE.c.place == 0))
        .where(RUN.c.provider == provider, RUN.c.model == model)
        .order_by(RUN.c.num.desc())
        .limit(limit)
    )
    at = ModelRunRow._fields.index("summary")
    with store.reading() as connection:
        rows = [list(row) for row in connection.execute(query)]
    for row in rows:
        row[at] = None if row[at] is None else orjson.loads(row[at])
    return [ModelRunRow(*row) for row in rows]
