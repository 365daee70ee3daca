"""What somebody should look at: runs that failed, lost items or were killed, jobs that cannot begin, schedules."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from proctor.errors import errors
from proctor.findings import Cause
from proctor.service.context import Context
from proctor.service.handing import over
from proctor.service.results.advice import goes_on
from proctor.service.results.causes import of_lines
from proctor.service.runs import fleet, schedules
from proctor.service.watch.job_states import RunFilter, RunLine, by_hand
from proctor.service.watch.overview import facts_of
from proctor.store.read import history, lists
from proctor.store.read.history import Facts, Searched
from proctor.store.read.lists import jobs_among
from proctor.types import Status

DAY_S = 86400.0
SINCE_DAYS = 2  # today and yesterday, in UTC
MOST = 8
MOST_WAITING = 50  # jobs in the queue that are looked at
WORDS = {"exam": "items", "batch": "requests", "rollouts": "trials", "judging": "verdicts"}

# What mends a run: ask again what it lacks, have the rows, give a key, change what was asked.
Cure = Literal["restart", "resume", "rows", "key", "change", "see"]
_ROWS = frozenset({"data-missing", "data"})
_KEY = frozenset({"auth", "quota"})
_CHANGE = frozenset({"context-overflow", "model-not-found", "config", "metric-missing", "endpoint-not-found"})


@dataclass(frozen=True, slots=True)
class Trouble:
    """One line: what is wrong, why in words, and the cure that one press begins.

    `state` is failed, partial, killed, waiting or schedule. `run` is None of a schedule, which `schedule` names.
    `lost` is how many of what the run asks have no outcome. `slug` is the kind of error, "" where none is known.
    """

    state: Literal["failed", "partial", "killed", "waiting", "schedule"]
    at: float
    cause: str
    cure: Cure
    run: RunLine | None = None
    facts: Facts | None = None
    schedule: tuple[int, str] | None = None
    lost: int = 0
    slug: str = ""

    @property
    def things(self) -> str:
        """What `lost` counts."""
        return WORDS[self.facts.kind] if self.facts else "items"


@dataclass(frozen=True, slots=True)
class Attention:
    """`troubles` are the latest first, `more` how many runs besides; all since `since` (Unix time)."""

    troubles: Sequence[Trouble]
    more: int
    since: float


def since_yesterday(now: float) -> float:
    """The beginning of yesterday in UTC.

    >>> since_yesterday(86400.0 * 5 + 7.0)
    345600.0
    """
    return now - now % DAY_S - (SINCE_DAYS - 1) * DAY_S


def attention(context: Context, project_id: int | None = None, *, now: float | None = None) -> Attention:
    """What wants attention since yesterday, of all that the context reaches."""
    now = time.time() if now is None else now
    since = since_yesterday(now)
    asked = Searched(RunFilter(project_id=project_id), now=now)
    lines, total = history.troubled(context.store, asked, since, limit=MOST)
    known = {line.id for line in lines}
    left = [line for line in _left(context, project_id) if line.id not in known]
    lines = [*left, *lines]
    found = _of_runs(context, lines)
    found += _waiting(context, project_id)
    found += _schedules(context, project_id, since)
    found.sort(key=lambda each: -each.at)
    return Attention(found, max(0, total + len(left) - len(lines)), since)


def _left(context: Context, project_id: int | None) -> list[RunLine]:
    """Runs of a terminal that was closed on them a moment ago: their leases still stand, their processes do not."""
    running, _ = lists.run_lines(
        context.store, RunFilter(status=Status.RUNNING, project_id=project_id), limit=MOST
    )
    lying = by_hand(context, running)
    return [line for line in running if lying.get(line.id)]


def _of_runs(context: Context, lines: Sequence[RunLine]) -> list[Trouble]:
    facts, causes = facts_of(context, lines), of_lines(context, lines)
    jobs = jobs_among(context.store, [line.id for line in lines])
    found = [_trouble(line, facts[line.id], causes.get(line.id, ()), line.id in jobs) for line in lines]
    return [_unless_in_the_way(context, each) if each.cure == "resume" else each for each in found]


def _unless_in_the_way(context: Context, of: Trouble) -> Trouble:
    """A cure that would be refused is none: what stands in the way is said with the cause."""
    assert of.run is not None
    way = over.in_the_way(context, context.store.run(of.run.id))
    if way is None:
        return of
    needs = _waits_for(way)
    return replace(of, cause=f"{of.cause.rstrip('.')}; {way}", cure="change" if needs == "see" else needs)


def _trouble(line: RunLine, facts: Facts, causes: Sequence[Cause], is_job: bool) -> Trouble:
    slug = causes[0].slug if causes else facts.error_slug or ""
    killed = line.status == Status.RUNNING
    return Trouble(
        "killed" if killed else "failed" if line.status == Status.FAILED else "partial",
        line.finished_at or line.created_at,
        _why(line, causes),
        "resume" if killed else _cure(slug, is_job, goes_on(line, causes)),
        run=line,
        facts=facts,
        lost=max(0, line.planned - line.settled),
        slug=slug,
    )


def _why(line: RunLine, causes: Sequence[Cause]) -> str:
    """In words, one sentence where there is one."""
    if line.status == Status.RUNNING:
        return "its process was killed"
    if line.error:
        return line.error
    if not causes:
        return line.stopped or "its items have no outcome yet"
    first = causes[0]
    said = f": {first.said}" if first.said else ""
    kind = errors().get(first.slug)
    more = f", and {len(causes) - 1} more kinds" if len(causes) > 1 else ""
    return f"{first.slug if kind is None else first.slug.replace('-', ' ')}{said}{more}"


def _cure(slug: str, is_job: bool, goes_on: bool) -> Cure:
    if slug in _ROWS:
        return "rows"
    if slug in _KEY:
        return "key"
    if slug in _CHANGE or not goes_on:
        return "change"
    return "restart" if is_job else "resume"


def _waiting(context: Context, project_id: int | None) -> list[Trouble]:
    """Jobs that wait for something other than their turn."""
    wanted = RunFilter(status=Status.PENDING, project_id=project_id)
    pending, _ = lists.run_lines(context.store, wanted, limit=MOST_WAITING)
    nobody: Mapping[str, str] = fleet.nobody_can_any(context, [line.id for line in pending])
    held = [line for line in pending if line.error or line.id in nobody][:MOST]
    facts = facts_of(context, held)
    return [
        Trouble(
            "waiting",
            line.created_at,
            nobody.get(line.id) or line.error or "",
            _waits_for(nobody.get(line.id) or line.error or ""),
            run=line,
            facts=facts[line.id],
        )
        for line in held
    ]


def _waits_for(said: str) -> Cure:
    """By what is said: a worker says in words alone what it lacks."""
    words = said.lower()
    if "key" in words:
        return "key"
    return "rows" if "rows" in words or "data" in words else "see"


def _schedules(context: Context, project_id: int | None, since: float) -> list[Trouble]:
    """Those whose last time led to no run."""
    return [
        Trouble(
            "schedule", each.last_at or each.created_at, each.last_error, "see", schedule=(each.id, each.name)
        )
        for each in schedules.all_schedules(context, project_id=project_id)
        if each.last_error and (each.last_at or 0.0) >= since
    ][:MOST]
