"""Plans and runs in the database. A run moves by one guarded statement, so two cannot both move it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, NotRequired, Self, TypedDict, Unpack

import orjson
from sqlalchemy import Column, Row, and_, delete, func, or_, select, update
from sqlalchemy.engine import URL
from sqlalchemy.exc import IntegrityError

from proctor.errors import ConfigError, Conflict, NotFound
from proctor.manifest import Manifest
from proctor.manifest_json import manifest_document, manifest_from
from proctor.plan import cell_from_json, cell_to_json, plan_to_json
from proctor.store.core import scores
from proctor.store.core.bodies import clean
from proctor.store.core.latest import settled_count
from proctor.store.core.schema import Database
from proctor.store.core.scores import Figures
from proctor.store.core.tables import PLAN, RUN, SCORE
from proctor.store.core.walls import Reach
from proctor.types import Cell, Plan, Run, Status

ID_CHARACTERS = 36  # of a whole id
MIN_PREFIX = 4  # characters of an id that must be given

# What `claim` may take without asking whose it is.
_WAITING = (Status.PENDING, Status.FAILED, Status.CANCELLED)


class RunFacts(TypedDict):
    """What a run knows from the start besides its plan and cell."""

    source_title: str
    planned: int
    manifest: Manifest
    comparability: str | None
    sample: bool
    now: float
    parent_id: NotRequired[str | None]
    exam: NotRequired[str | None]


class Ending(TypedDict):
    """How a stretch of work on a run ended; `elapsed_s` is added to that of earlier stretches.

    `figures` are what the run shows; without them whoever finds it ended will count them.
    """

    owner: str
    now: float
    elapsed_s: float
    stopped: NotRequired[str | None]
    error: NotRequired[str | None]
    error_slug: NotRequired[str | None]
    figures: NotRequired[Figures | None]


class RunStore(Database):
    """The half of the store that knows plans and runs."""

    def __init__(self, url: URL) -> None:
        super().__init__(url)
        self._nums: dict[str, int] = {}  # by run id; a number never changes, so threads may share it

    def within(self, reach: Reach) -> Self:
        narrow = super().within(reach)
        narrow._nums = {}  # a number that somebody else has looked up would lead past the wall
        return narrow

    def number(self, run_id: str) -> int:
        """The short key of a run's attempts. Raises NotFound."""
        if run_id not in self._nums:
            with self.reading() as connection:
                num = connection.execute(select(RUN.c.num).where(RUN.c.id == run_id)).scalar_one_or_none()
            if num is None:
                raise NotFound(f"No run {run_id}")
            self._nums[run_id] = num
        return self._nums[run_id]

    def add_plan(self, plan: Plan, *, now: float) -> str:
        plan_id = str(uuid.uuid4())
        row = {"id": plan_id, "name": plan.name, "body": plan_to_json(plan), "created_at": now}
        with self.writing() as connection:
            connection.execute(PLAN.insert(), row)
        return plan_id

    # The many facts are typed keywords of one record: named at the call, checked by mypy.
    def add_run(self, plan_id: str, cell: Cell, **facts: Unpack[RunFacts]) -> Run:
        """A pending run of one cell of a plan. Raises NotFound if there is no such plan."""
        row = {
            "id": str(uuid.uuid4()),
            "plan_id": plan_id,
            "status": Status.PENDING.value,
            "cell": cell_to_json(cell),
            "provider": cell.model.provider,
            "model": cell.model.name,
            "source": cell.source.listed,
            "source_title": facts["source_title"],
            "sample": facts["sample"],
            "comparability": facts["comparability"],
            "exam": facts.get("exam"),
            "planned": facts["planned"],
            "settled": 0,
            "manifest": manifest_text(facts["manifest"]),
            "created_at": facts["now"],
            "elapsed_s": 0.0,
            "parent_id": facts.get("parent_id"),
        }
        with self.writing() as connection:
            try:
                return run_from(connection.execute(RUN.insert().returning(*RUN.c), row).one())
            except IntegrityError as error:
                raise NotFound(f"No plan {plan_id}") from error

    def claim(
        self, run_id: str, *, owner: str, now: float, lease_s: float, dead_owner: str | None = None
    ) -> Run:
        """Make the run `owner`'s until `now + lease_s`, if it waits or its owner is gone.

        Taken is what is pending, failed, cancelled or partial, and what runs under a lease that is
        over or under `dead_owner`. Raises Conflict with the state it is in, NotFound.
        """
        gone = [RUN.c.lease_until.is_(None), RUN.c.lease_until <= now]
        if dead_owner is not None:
            gone.append(RUN.c.owner == dead_owner)
        free = or_(
            # A worker of the server takes the run for the process that will do the work, under one name.
            and_(RUN.c.status == Status.RUNNING.value, RUN.c.owner == owner),
            RUN.c.status.in_([status.value for status in _WAITING]),
            and_(RUN.c.status == Status.COMPLETED.value, RUN.c.settled < RUN.c.planned),
            and_(RUN.c.status == Status.RUNNING.value, or_(*gone)),
        )
        taken = (
            update(RUN)
            .where(RUN.c.id == run_id, free)
            .values(
                status=Status.RUNNING.value,
                owner=owner,
                lease_until=now + lease_s,
                started_at=func.coalesce(RUN.c.started_at, now),
                finished_at=None,
                stopped=None,
                error=None,
                error_slug=None,
                summary=None,
            )
            .returning(*RUN.c)
        )
        with self.writing() as connection:
            row = connection.execute(taken).one_or_none()
            if row is not None:
                # What was counted at an earlier end must not stand if this stretch ends without counting.
                connection.execute(delete(SCORE).where(SCORE.c.run_num == row.num))
        if row is None:
            raise self._why_not(run_id, "it cannot be taken")
        return run_from(row)

    def renew(self, run_id: str, *, owner: str, until: float) -> bool:
        """Prolong the lease. False: the run is no longer `owner`'s, and its work must stop."""
        renewed = (
            update(RUN)
            .where(RUN.c.id == run_id, RUN.c.owner == owner, RUN.c.status == Status.RUNNING.value)
            .values(lease_until=until)
        )
        with self.writing() as connection:
            return connection.execute(renewed).rowcount == 1

    def finish(self, run_id: str, status: Status, **ending: Unpack[Ending]) -> Run:
        """End `owner`'s work on a run, with what is settled counted from the rows, and keep its figures with it.

        All of it is one transaction. A completed run that lacks items stays completed and is partial.
        Raises Conflict if the run is not running under `owner`, NotFound.
        """
        if status is Status.RUNNING:
            raise Conflict(f"Run {run_id}: running work cannot end as {status}")
        final = status is not Status.PENDING
        ended = (
            update(RUN)
            .where(RUN.c.id == run_id, RUN.c.owner == ending["owner"], RUN.c.status == Status.RUNNING.value)
            .values(
                status=status.value,
                settled=settled_count(RUN.c.num),
                owner=None,
                lease_until=None,
                finished_at=ending["now"] if final else None,
                elapsed_s=RUN.c.elapsed_s + ending["elapsed_s"],
                stopped=clean(ending.get("stopped")),
                error=clean(ending.get("error")),
                error_slug=ending.get("error_slug"),
            )
            .returning(*RUN.c)
        )
        with self.writing() as connection:
            row = connection.execute(ended).one_or_none()
            if row is not None and (figures := ending.get("figures")) is not None:
                scores.put(connection, row.num, figures)
        if row is None:
            raise self._why_not(run_id, f"{ending['owner']} cannot end it as {status}")
        return run_from(row)

    def run(self, run_id: str) -> Run:
        """By id, or by the first characters of it (at least 4) if only one run begins so.

        Raises NotFound; ConfigError if the characters are too few or fit several runs.
        """
        whole = len(run_id) == ID_CHARACTERS
        named = RUN.c.id == run_id if whole else self._begins(RUN.c.id, "run", run_id)
        query = select(RUN).where(named).order_by(RUN.c.num)
        with self.reading() as connection:
            rows = connection.execute(query.limit(11)).all()
        return run_from(_only(rows, "run", run_id))

    def runs(
        self,
        *,
        limit: int | None = 20,
        model: str | None = None,
        source: str | None = None,
        status: Status | None = None,
        project_id: int | None = None,
        since: float | None = None,
    ) -> list[Run]:
        """Newest first; `limit` None gives all.

        `model` is a name, with or without its provider; `source` a suite or file name; `since` the
        Unix time from which on runs were created.
        """
        query = select(RUN).order_by(RUN.c.created_at.desc(), RUN.c.num.desc()).limit(limit)
        if model is not None:
            query = query.where(or_(RUN.c.model == model, RUN.c.provider + "/" + RUN.c.model == model))
        if source is not None:
            query = query.where(RUN.c.source == source)
        if status is not None:
            query = query.where(RUN.c.status == status.value)
        if project_id is not None:
            query = query.where(RUN.c.project_id == project_id)
        if since is not None:
            query = query.where(RUN.c.created_at >= since)
        with self.reading() as connection:
            return [run_from(row) for row in connection.execute(query)]

    def plan_runs(self, plan_id: str) -> list[Run]:
        """The runs of one plan, oldest first; the id may be shortened as in `run`."""
        with self.reading() as connection:
            plans = connection.execute(
                select(PLAN.c.id).where(self._begins(PLAN.c.id, "plan", plan_id)).limit(11)
            ).all()
            found = _only(plans, "plan", plan_id).id
            rows = connection.execute(select(RUN).where(RUN.c.plan_id == found).order_by(RUN.c.num))
            return [run_from(row) for row in rows]

    def owner_of(self, run_id: str) -> str | None:
        """Who works on the run, alive or not; None if nobody does. Raises NotFound."""
        with self.reading() as connection:
            row = connection.execute(select(RUN.c.owner).where(RUN.c.id == run_id)).one_or_none()
        if row is None:
            raise NotFound(f"No run {run_id}")
        owner: str | None = row.owner
        return owner

    def set_manifest(
        self, run_id: str, manifest: Manifest, *, keys: tuple[str | None, str] | None = None
    ) -> None:
        """Replace what the run's numbers rest on, and with it its `keys` of comparability and exam. Raises NotFound."""
        values: dict[str, Any] = {"manifest": manifest_text(manifest)}
        if keys is not None:
            values |= {"comparability": keys[0], "exam": keys[1]}
        changed = update(RUN).where(RUN.c.id == run_id).values(values)
        with self.writing() as connection:
            if connection.execute(changed).rowcount == 0:
                raise NotFound(f"No run {run_id}")

    @staticmethod
    def _begins(column: Column[str], kind: str, start: str) -> Any:
        if len(start) < MIN_PREFIX:
            raise ConfigError(f"{kind} {start!r}: give at least {MIN_PREFIX} characters of its id")
        return column.startswith(start.lower(), autoescape=True)

    def _why_not(self, run_id: str, refusal: str) -> Conflict | NotFound:
        with self.reading() as connection:
            row = connection.execute(select(RUN).where(RUN.c.id == run_id)).one_or_none()
        if row is None:
            return NotFound(f"No run {run_id}")
        if row.status == Status.RUNNING.value:
            return Conflict(f"Run {run_id} is running elsewhere, by {row.owner}; {refusal}")
        if row.status == Status.COMPLETED.value and row.settled >= row.planned:
            return Conflict(f"Run {run_id} is completed with nothing missing; {refusal}")
        return Conflict(f"Run {run_id} is {row.status}; {refusal}")


def _only(rows: Sequence[Row[Any]], kind: str, start: str) -> Row[Any]:
    if not rows:
        raise NotFound(f"No {kind} {start}")
    if len(rows) > 1:
        ids = ", ".join(row.id for row in rows[:10]) + (", ..." if len(rows) > 10 else "")
        raise ConfigError(f"{start} begins the id of several {kind}s: {ids}; give more of it")
    return rows[0]


def manifest_text(manifest: Manifest) -> str:
    """The manifest as its column keeps it; "{}" while nothing is known of the run."""
    return orjson.dumps(manifest_document(manifest)).decode()


def run_from(row: Row[Any]) -> Run:
    return Run(
        id=row.id,
        plan_id=row.plan_id,
        status=Status(row.status),
        cell=cell_from_json(row.cell),
        source_title=row.source_title,
        planned=row.planned,
        settled=row.settled,
        manifest=manifest_from(orjson.loads(row.manifest), f"Run {row.id}: manifest"),
        created_at=row.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
        elapsed_s=row.elapsed_s,
        stopped=row.stopped,
        error=row.error,
        error_slug=row.error_slug,
        parent_id=row.parent_id,
        comparability=row.comparability,
        exam=row.exam,
        sample=row.sample,
    )
