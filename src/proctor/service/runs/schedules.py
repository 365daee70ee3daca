"""Scheduled runs: a cron expression says when, in UTC; the worker submits them at low priority.

A time that passed while no worker was there is made up for once, not once for each time missed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from proctor.errors import ConfigError, Conflict, NotFound, ProctorError, StoreError
from proctor.plan import check, need_name
from proctor.service.admin import access
from proctor.service.admin.addresses import check_address
from proctor.service.context import Context
from proctor.service.runs.queue import Ticket, submit
from proctor.store.queue import schedules
from proctor.store.queue.schedules import NewSchedule, Schedule
from proctor.types import Plan, Run

__all__ = [
    "NewSchedule",
    "Schedule",
    "add",
    "all_schedules",
    "last_run",
    "next_time",
    "one",
    "remove",
    "run_now",
    "set_enabled",
    "submit_due",
]

ALIASES = ("@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually")
_FIELD = re.compile(r"[0-9A-Za-z*/,#?-]{1,60}")
_LOOKS = 'minute, hour, day, month and weekday in UTC, such as "0 2 * * *" for every night at two'


def next_time(cron: str, after: float) -> float:
    """The first time after `after` (Unix time) that the expression names, in UTC.

    Raises ConfigError for one that cannot be read or never comes.

    >>> next_time("0 2 * * *", 0.0)
    7200.0
    """
    from croniter import CroniterBadDateError, CroniterError, croniter

    fields = cron.split()
    usual = len(fields) == 5 and all(_FIELD.fullmatch(field) for field in fields)
    if not usual and cron not in ALIASES:
        raise ConfigError(f"cron {cron[:80]!r}: give five fields, {_LOOKS}; or one of {', '.join(ALIASES)}")
    try:
        start = datetime.fromtimestamp(after, UTC)
        found: float = croniter(cron, start, max_years_between_matches=8).get_next(float)
    except CroniterBadDateError:
        raise ConfigError(f"cron {cron[:80]!r}: no such time comes within eight years") from None
    except (CroniterError, ValueError, KeyError) as error:
        raise ConfigError(f"cron {cron[:80]!r}: {error}; give five fields, {_LOOKS}") from None
    return found


def add(context: Context, wanted: NewSchedule, *, now: float | None = None) -> Schedule:
    """Raises ConfigError for a cron expression or a cell that cannot be meant, NotFound for a project.

    Forbidden for an address that its jobs may not ask: better now than every night.
    """
    now = time.time() if now is None else now
    check(Plan((wanted.cell,)))
    check_address(wanted.cell, context.settings)
    if not wanted.name.strip():
        raise ConfigError("A schedule needs a name")
    need_name("schedule", wanted.name)
    return schedules.add(context.store, wanted, next_at=next_time(wanted.cron, now), now=now)


def one(context: Context, schedule_id: int) -> Schedule:
    """Raises NotFound."""
    return schedules.schedule(context.store, schedule_id)


def all_schedules(
    context: Context, *, user: str | None = None, project_id: int | None = None
) -> Sequence[Schedule]:
    """Oldest first; of one user or project, if named."""
    return schedules.schedules(context.store, user=user, project_id=project_id)


def last_run(context: Context, of: Schedule) -> Run | None:
    """The run of the schedule's last time as it stands now; None if there was none or it was deleted."""
    try:
        return context.store.run(of.last_run_id) if of.last_run_id else None
    except NotFound:
        return None


def set_enabled(context: Context, schedule_id: int, enabled: bool, *, now: float | None = None) -> Schedule:
    """Switch it on or off; times that passed while it was off are not made up for. Raises NotFound."""
    now = time.time() if now is None else now
    kept = schedules.schedule(context.store, schedule_id)
    return schedules.set_enabled(context.store, schedule_id, enabled, next_at=next_time(kept.cron, now))


def run_now(context: Context, schedule_id: int, user: str, *, now: float | None = None) -> Run:
    """Submit it once besides, as `user`; its next time stays. Raises NotFound, ConfigError, QueueFull, Forbidden."""
    now = time.time() if now is None else now
    turn = schedules.schedule(context.store, schedule_id)
    ticket = Ticket(user, turn.project_id, "normal", turn.id)
    plan = Plan((turn.cell,), name=turn.name)
    return submit(context, plan, ticket, also=schedules.ran_besides(turn, now=now))


def remove(context: Context, schedule_id: int) -> None:
    """Forget a schedule; its runs stay. Raises NotFound."""
    schedules.remove(context.store, schedule_id)


def submit_due(context: Context, *, now: float) -> list[str]:
    """Submit what is due, as the schedules' users; a sentence for the log about each.

    What cannot be submitted (the user's queue is full) is noted in the schedule, which is tried again
    at its next time.
    """
    return [told for turn in schedules.due(context.store, now=now) if (told := _submit(context, turn, now))]


def _submit(context: Context, turn: Schedule, now: float) -> str:
    try:
        next_at = next_time(turn.cron, now)
        ticket = Ticket(turn.user, turn.project_id, "low", turn.id)
        also = schedules.used_up(turn, next_at=next_at, now=now)
        run = submit(context, Plan((turn.cell,), name=turn.name), ticket, also=also)
    except (Conflict, StoreError):
        return ""  # another worker has done it, or the database is away and the time is due still
    except ProctorError as error:
        schedules.passed_over(context.store, turn, str(error), next_at=_later(turn, now), now=now)
        return f"schedule {turn.id} ({turn.name}): {error}"
    about = f"{turn.cell.model} on {turn.cell.source.name}, schedule {turn.id} ({turn.name})"
    access.note(context, turn.user, "submit", run.id, about)
    return f"schedule {turn.id} ({turn.name}): run {run.id}"


def _later(turn: Schedule, now: float) -> float:
    try:
        return next_time(turn.cron, now)
    except ConfigError:
        return now + 86400.0  # an expression that a later croniter no longer reads: say so once a day
