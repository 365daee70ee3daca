"""How a run of the queue ends, or waits for its next try, when it cannot simply be finished.

Three tries in a row that fail and settle nothing make a failure final. A try counts for nothing that the run
did not spoil itself (its worker was stopped, its machine was lost, the disk was full), and one that settled
items begins the count afresh: there are only so many items.

Every function here is one guarded step: a run that has meanwhile become another owner's, or has ended,
is left as it is.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Select, Update, func, literal, or_, select, update

from proctor.store.core.bodies import clean
from proctor.store.core.latest import settled_count
from proctor.store.core.schema import Database
from proctor.store.core.tables import ATTEMPT, JOB, RUN
from proctor.store.queue.entries import MOST_TRIES, Job, is_dead
from proctor.types import Status

_RUNNING = RUN.c.status == Status.RUNNING.value


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a run's row is to say. A pending one waits until `run_after`.

    `counted` False gives its try back; `afresh` makes the next try the first again.
    """

    status: Status
    stopped: str | None = None
    error: str | None = None
    error_slug: str | None = None
    run_after: float = 0.0
    counted: bool = True
    afresh: bool = False


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens in and out, and dollars, as far as they were reported."""

    tokens: int = 0
    usd: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.tokens + other.tokens, self.usd + other.usd)


def wait_s(tries: int, first_retry_s: float) -> float:
    """How long a run waits after its try number `tries` failed.

    >>> [wait_s(tries, 60.0) for tries in (1, 2, 3)]
    [60.0, 120.0, 240.0]
    """
    return first_retry_s * 2.0 ** (tries - 1)


@dataclass(frozen=True, slots=True)
class Try:
    """A try that failed: what it had when it began, and whether something else spoilt it."""

    settled_before: int
    blameless: bool = False


def after(failed: Verdict, job: Job, tried: Try, *, now: float, first_retry_s: float) -> Verdict:
    """What becomes of a run whose try failed as `failed` says, if another may do better."""
    waits = replace(failed, status=Status.PENDING, run_after=now + first_retry_s)
    if tried.blameless:
        return replace(waits, counted=False)
    if job.run.settled > tried.settled_before:
        return replace(waits, afresh=True)
    if job.tries < MOST_TRIES:
        return replace(waits, run_after=now + wait_s(job.tries, first_retry_s))
    return failed


def next_try(run_after: float, tries: int) -> str:
    """When a run is taken again of whose tries so many count, in words.

    >>> next_try(7200.0, 1)
    'to be tried again at 02:00:00 UTC, try 2 of 3'
    """
    at = time.strftime("%H:%M:%S", time.gmtime(run_after))
    return f"to be tried again at {at} UTC, try {tries + 1} of {MOST_TRIES}"


def end(store: Database, run_id: str, verdict: Verdict, *, owner: str, now: float) -> bool:
    """Write how `owner`'s work on a run ended. False if the run is no longer `owner`'s."""
    final = verdict.status is not Status.PENDING
    ended = (
        update(RUN)
        .where(RUN.c.id == run_id, RUN.c.owner == owner, _RUNNING)
        .values(
            status=verdict.status.value,
            settled=settled_count(RUN.c.num),
            finished_at=now if final else None,
            owner=None,
            lease_until=None,
            stopped=verdict.stopped,
            error=clean(verdict.error),
            error_slug=verdict.error_slug,
        )
        .returning(RUN.c.num)
    )
    with store.writing() as connection:
        num = connection.execute(ended).scalar_one_or_none()
        if num is not None and not final:
            connection.execute(_put_off(verdict).where(JOB.c.run_num == num))
        return num is not None


def put_off(store: Database, run_id: str, verdict: Verdict, *, owner: str) -> None:
    """Say when `owner`'s run may be taken again, before `finish` lets it wait."""
    own = select(RUN.c.num).where(RUN.c.id == run_id, RUN.c.owner == owner, _RUNNING).scalar_subquery()
    with store.writing() as connection:
        connection.execute(_put_off(verdict).where(JOB.c.run_num == own))


def _put_off(verdict: Verdict) -> Update:
    return update(JOB).values(run_after=verdict.run_after, tries=tries_left(verdict, JOB.c.tries))


def tries_left(verdict: Verdict, tries: Any) -> Any:
    """How many tries count after this end, of so many before; numbers, or the database's column."""
    if verdict.afresh:
        return 0
    return tries if verdict.counted else tries - 1


def overrule(store: Database, run_id: str, verdict: Verdict, *, now: float) -> bool:
    """Call a run failed that was made to end, as by `cancel`, because it passed a limit."""
    asked = select(JOB.c.run_num).where(JOB.c.cancel_at.is_not(None))
    changed = (
        update(RUN)
        .where(RUN.c.id == run_id, RUN.c.status == Status.CANCELLED.value, RUN.c.num.in_(asked))
        .values(
            status=verdict.status.value,
            finished_at=now,
            stopped=verdict.stopped,
            error=clean(verdict.error),
            error_slug=verdict.error_slug,
        )
    )
    with store.writing() as connection:
        return connection.execute(changed).rowcount == 1


def explain(store: Database, run_id: str, verdict: Verdict) -> None:
    """Say why a run waits that its own process has put back without knowing the reason."""
    told = {"error": clean(verdict.error), "error_slug": verdict.error_slug}
    waits = update(RUN).where(RUN.c.id == run_id, RUN.c.status == Status.PENDING.value, RUN.c.error.is_(None))
    with store.writing() as connection:
        connection.execute(waits.values(**told))


def bury(store: Database, *, now: float) -> list[str]:
    """End the runs that somebody asked to end, and whose process died before it could; their ids."""
    gone = or_(is_dead(now), RUN.c.status == Status.PENDING.value)
    query = select(RUN.c.id).join(JOB, JOB.c.run_num == RUN.c.num).where(gone, JOB.c.cancel_at.is_not(None))
    with store.reading() as connection:
        if connection.execute(query).first() is None:
            return []
    with store.writing() as connection:
        rows = connection.execute(query.with_for_update(of=RUN)).all()
        for row in rows:
            nobody = dict.fromkeys(("owner", "lease_until", "error", "error_slug"))
            ended = {"status": Status.CANCELLED.value, "finished_at": now, "stopped": "cancelled"}
            connection.execute(update(RUN).where(RUN.c.id == row.id).values(**ended, **nobody))
        return [row.id for row in rows]


def to_end(store: Database, owners: Sequence[str]) -> dict[str, float]:
    """The owners whose run somebody asked to end, with the time of asking."""
    query = (
        select(RUN.c.owner, JOB.c.cancel_at)
        .join(JOB, JOB.c.run_num == RUN.c.num)
        .where(RUN.c.owner.in_(owners), _RUNNING, JOB.c.cancel_at.is_not(None))
    )
    with store.reading() as connection:
        return {row.owner: row.cancel_at for row in connection.execute(query)}


def spent(store: Database, run_id: str) -> Spent:
    """What the run has used since it was handed over or restarted, over all its tries."""
    with store.reading() as connection:
        row = connection.execute(_spent(run_id)).one()
    return Spent(int(row.tokens or 0), float(row.usd or 0.0))


def _spent(run_id: str) -> Select[Any]:
    a = ATTEMPT.c
    counts = (a.input_tokens, a.output_tokens, a.unused_input_tokens, a.unused_output_tokens)
    tokens = sum((func.coalesce(count, 0) for count in counts), literal(0))
    usd = func.coalesce(a.cost_usd, 0.0) + func.coalesce(a.unused_cost_usd, 0.0)
    return (
        select(func.sum(tokens).label("tokens"), func.sum(usd).label("usd"))
        .join(RUN, RUN.c.num == ATTEMPT.c.run_num)
        .where(RUN.c.id == run_id, ATTEMPT.c.at >= RUN.c.started_at)
    )


def uncounted(verdict: Verdict) -> str:
    """Why a try is not one of the three, for the run's log."""
    if verdict.afresh:
        return " because this one settled items"
    return "" if verdict.counted else " because this one was not spoilt by the run"
