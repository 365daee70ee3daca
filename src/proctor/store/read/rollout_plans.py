"""Plans whose runs are of tasks for agents, among all plans: the newest first, a page at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, case, func, select

from proctor.errors import NotFound
from proctor.store.core import bodies
from proctor.store.core.attempts import Store
from proctor.store.core.latest import is_latest
from proctor.store.core.runs import run_from
from proctor.store.core.tables import ATTEMPT, PAYLOAD, RUN
from proctor.types import Run, Status, Usage

# As cells are written, with their keys in order; a quote inside a text has a backslash before it.
_OF_ROLLOUTS = RUN.c.cell.contains('"kind": "rollouts"', autoescape=True)
# What is said of a plan whose runs are in several states: that which matters most.
RANKS = (Status.COMPLETED, Status.CANCELLED, Status.FAILED, Status.PENDING, Status.RUNNING)


class PlanFilter(NamedTuple):
    """Which plans; None is any. `name` is the benchmark's, `status` that which counts of all of its runs."""

    status: Status | None = None
    project_id: int | None = None
    name: str | None = None


class RowCounts(NamedTuple):
    """Trials of a run by what became of them, each by its latest try."""

    ended: int = 0  # with a verdict
    passed: int = 0
    errors: int = 0  # measured nothing


def listed(
    store: Store, wanted: PlanFilter, *, before: str | None = None, limit: int = 50
) -> tuple[list[str], int]:
    """The ids of the newest plans that came before one, and how many there are in all. Raises: NotFound."""
    plans = _plans(wanted)
    page = plans.order_by(_first().desc()).limit(limit)
    if before is not None:
        page = page.having(_first() < _first_of(store, before))
    with store.reading() as connection:
        ids = [row[0] for row in connection.execute(page)]
        total = connection.execute(select(func.count()).select_from(plans.subquery())).scalar_one()
    return ids, int(total)


def _plans(wanted: PlanFilter) -> Select[Any]:
    query = select(RUN.c.plan_id).where(_OF_ROLLOUTS).group_by(RUN.c.plan_id)
    if wanted.project_id is not None:
        query = query.where(RUN.c.project_id == wanted.project_id)
    if wanted.name is not None:
        query = query.where(RUN.c.source == wanted.name)
    if wanted.status is not None:
        query = query.having(_rank() == RANKS.index(wanted.status))
    return query


def _first() -> ColumnElement[int]:
    """By which plans are in order: the number of their first run."""
    return func.min(RUN.c.num)


def _rank() -> ColumnElement[int]:
    return func.max(case(*((RUN.c.status == each.value, place) for place, each in enumerate(RANKS))))


def _first_of(store: Store, plan_id: str) -> int:
    with store.reading() as connection:
        found = connection.execute(select(_first()).where(RUN.c.plan_id == plan_id)).scalar_one_or_none()
    if found is None:
        raise NotFound(f"No benchmark {plan_id}")
    return int(found)


def plan_of(store: Store, ident: str) -> str:
    """The plan that its own id means, or that of one of its runs. Raises: NotFound, also for a run of anything else."""
    named = (RUN.c.plan_id == ident) | (RUN.c.id == ident)
    with store.reading() as connection:
        found = connection.execute(
            select(RUN.c.plan_id).where(named, _OF_ROLLOUTS).limit(1)
        ).scalar_one_or_none()
    if found is None:
        raise NotFound(f"Benchmark {ident} not found")
    return str(found)


def runs_of(store: Store, plan_ids: Sequence[str]) -> dict[str, list[tuple[Run, int]]]:
    """The runs of plans with their projects, in the order in which they were added, by the plans' ids."""
    query = select(RUN).where(RUN.c.plan_id.in_(plan_ids), _OF_ROLLOUTS).order_by(RUN.c.num)
    found: dict[str, list[tuple[Run, int]]] = {plan_id: [] for plan_id in plan_ids}
    with store.reading() as connection:
        for row in connection.execute(query):
            found[row.plan_id].append((run_from(row), int(row.project_id)))
    return found


def counts_of(store: Store, plan_ids: Sequence[str]) -> dict[str, RowCounts]:
    """What became of the trials of plans, by the ids of their runs; those without an attempt are left out."""
    a = ATTEMPT.c
    query = (
        select(
            RUN.c.id,
            func.sum(case((a.outcome != "error", 1), else_=0)),
            func.sum(case((a.outcome == "correct", 1), else_=0)),
            func.sum(case((a.outcome == "error", 1), else_=0)),
        )
        .join(ATTEMPT, a.run_num == RUN.c.num)
        .where(RUN.c.plan_id.in_(plan_ids), is_latest())
        .group_by(RUN.c.id)
    )
    with store.reading() as connection:
        return {row[0]: RowCounts(*map(int, row[1:])) for row in connection.execute(query)}


def spent(store: Store, plan_id: str) -> Usage:
    """What all trials of a plan have used, in every try of each."""
    a = ATTEMPT.c
    known = [
        func.coalesce(func.sum(func.coalesce(one, 0) + func.coalesce(unused, 0)), 0)
        for one, unused in (
            (a.input_tokens, a.unused_input_tokens),
            (a.output_tokens, a.unused_output_tokens),
            (a.cost_usd, a.unused_cost_usd),
        )
    ]
    query = select(*known).join(RUN, RUN.c.num == a.run_num).where(RUN.c.plan_id == plan_id)
    with store.reading() as connection:
        read, wrote, usd = connection.execute(query).one()
    return Usage(int(read), int(wrote), float(usd))


def records(store: Store, plan_id: str) -> Iterator[bytes]:
    """The records of a plan's trials as they are kept."""
    query = select(PAYLOAD.c.body).join(RUN, RUN.c.num == PAYLOAD.c.run_num).where(RUN.c.plan_id == plan_id)
    with store.reading() as connection:
        for (body,) in connection.execute(query):
            yield str(bodies.unpack(body).get("raw") or "").encode()
