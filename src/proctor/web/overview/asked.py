"""Which runs History is asked for, as the address has it: filters, order, columns; and what its chips say."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Depends, Query

from proctor.errors import ConfigError
from proctor.service.watch.job_states import RunFilter
from proctor.service.watch.overview import ATTENTION, DECIDED, PARTIAL, Order, Searched
from proctor.types import Status
from proctor.web.addresses import query
from proctor.web.dependencies import Project, Text

DAY_S = 86400.0
MOST_DAYS = 3660
MOST_IDS = 1000  # runs named one by one
STATES = {
    "completed": "completed",
    PARTIAL: "partial",
    DECIDED: "decided",
    "failed": "failed",
    "running": "running",
    "pending": "pending",
    "cancelled": "cancelled",
    ATTENTION: "needs attention",
}
KINDS = {"exam": "Exams", "batch": "Batches", "rollouts": "Rollouts", "judging": "Judgings"}
RANGES = (("", "Any time"), ("1", "Today"), ("7", "7 days"), ("30", "30 days"))
# Sorted the first time so: names from a, figures from the highest.
SORTS = {
    "time": "desc",
    "model": "asc",
    "suite": "asc",
    "status": "asc",
    "score": "desc",
    "duration": "desc",
    "cost": "desc",
}
# What the list shows, in its order; those of `ALWAYS` whatever is chosen.
COLUMNS = {
    "suite": "Suite",
    "status": "Status",
    "items": "Items",
    "score": "Score",
    "accuracy": "Accuracy",
    "f1": "F1",
    "created": "Created",
    "completed": "Completed",
    "duration": "Duration",
    "cost": "Cost",
    "who": "Who",
    "project": "Project",
}
USUAL = ("suite", "status", "items", "score", "created", "completed")
CHOSEN = ("suite", "status", "kind", "who", "errors", "days", "from", "to", "model", "project")
Day = Annotated[str, Query(max_length=10)]
From = Annotated[str, Query(max_length=10, alias="from")]
Several = Annotated[list[str], Query(max_length=30)]


@dataclass(frozen=True, slots=True)
class HistoryAsked:
    """The filters, the order and the columns as the address has them."""

    project: Project
    model: Text = ""
    suite: Text = ""
    status: Text = ""
    kind: Text = ""
    who: Text = ""
    errors: Text = ""
    days: Text = ""
    since: From = ""
    to: Day = ""
    sort: Text = ""
    order: Text = ""
    columns: Several = ()  # type: ignore[assignment]  # FastAPI makes the list
    runs: Annotated[list[str], Query(max_length=MOST_IDS)] = ()  # type: ignore[assignment]  # as above

    def searched(self, now: float | None = None) -> Searched:
        """Raises ConfigError for what there is none of."""
        now = time.time() if now is None else now
        _choice("status", self.status, STATES)
        _choice("kind", self.kind, KINDS)
        start, end = self.span(now)
        wanted = RunFilter(source=self.suite or None, project_id=self.project, since=start)
        plain = Status(self.status) if self.status in tuple(Status) and self.status != "completed" else None
        return Searched(
            wanted._replace(status=plain),
            self.model.strip() or None,
            kind=self.kind or None,  # type: ignore[arg-type]  # one of KINDS
            state=self.status if self.status and plain is None else None,
            until=end,
            errors=self.errors == "1",
            user=self.who or None,
            now=now,
            ids=tuple(self.runs) or None,
        )

    def span(self, now: float) -> tuple[float | None, float | None]:
        """From when to before when, in Unix time; days begin at midnight in UTC. Raises ConfigError."""
        if self.days and not (self.since or self.to):
            if not self.days.isdigit() or not 0 < int(self.days) <= MOST_DAYS:
                raise ConfigError(f"days={self.days[:20]!r}: give a number from 1 to {MOST_DAYS:,}")
            return now - now % DAY_S - (int(self.days) - 1) * DAY_S, None
        start, end = _day("from", self.since), _day("to", self.to)
        if start is not None and end is not None and end < start:
            raise ConfigError(f"from={self.since} to={self.to}: the last day is before the first")
        return start, None if end is None else end + DAY_S

    def ordered(self) -> Order:
        """Raises ConfigError."""
        _choice("sort", self.sort, SORTS)
        _choice("order", self.order, {"asc", "desc"})
        by = self.sort or "time"
        return Order(by, (self.order or SORTS[by]) == "desc")  # type: ignore[arg-type]  # one of SORTS

    def shown(self) -> list[str]:
        """The columns in their order; what is no column is left out, and without any the usual ones."""
        wanted = [name for each in self.columns for name in each.split(",") if name in COLUMNS]
        return [name for name in COLUMNS if name in (wanted or USUAL)]

    def address(self) -> dict[str, Any]:
        """As a query names it; what is as usual is left out."""
        shown = self.shown()
        return {
            "model": self.model,
            "suite": self.suite,
            "status": self.status,
            "kind": self.kind,
            "who": self.who,
            "errors": self.errors,
            "days": "" if self.since or self.to else self.days,
            "from": self.since,
            "to": self.to,
            "project": self.project or "",
            "sort": self.sort,
            "order": self.order,
            "columns": "" if shown == list(USUAL) else ",".join(shown),
        }

    def chips(self, projects: dict[int, str]) -> Iterator[tuple[str, str]]:
        """What is filtered, in words, and the address without it."""
        asked = self.address()
        words = {
            "model": f"model has “{self.model}”",
            "suite": f"suite is {self.suite}",
            "status": STATES.get(self.status, self.status),
            "kind": KINDS.get(self.kind, self.kind),
            "who": f"by {self.who}",
            "errors": "had errors",
            "days": days_said(self.days),
            "from": f"from {self.since}",
            "to": f"to {self.to}",
            "project": f"project {projects.get(self.project or 0, self.project)}",
        }
        for name, said in words.items():
            if asked[name]:
                yield said, "/runs" + query(asked, **{name: ""})

    def headings(self) -> dict[str, tuple[str, str]]:
        """By column that sorts: what `aria-sort` says, and where pressing its head leads."""
        asked, now = self.address(), self.ordered()
        found = {}
        for name, first in SORTS.items():
            here = now.by == name
            other = ("asc" if now.down else "desc") if here else first
            says = ("descending" if now.down else "ascending") if here else ""
            usual = name == "time" and other == "desc"
            changed = {"sort": "" if usual else name, "order": "" if usual or other == SORTS[name] else other}
            found[name] = (says, "/runs" + query(asked, **changed))
        return found


Filtered = Annotated[HistoryAsked, Depends()]


def _choice(name: str, value: str, of: Any) -> None:
    if value and value not in of:
        raise ConfigError(f"{name}={value[:20]!r}: choose from {', '.join(of)}")


def _day(name: str, text: str) -> float | None:
    """The day's beginning in UTC, Unix time."""
    if not text:
        return None
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise ConfigError(f"{name}={text[:20]!r}: write a day as 2026-11-23") from None


def ranges(asked: HistoryAsked) -> list[tuple[str, str]]:
    """The spans of one press, and the one that is asked for if it is another."""
    other = asked.days and asked.days not in dict(RANGES)
    return [*RANGES, *([(asked.days, days_said(asked.days))] if other else [])]


def days_said(days: str) -> str:
    """
    >>> days_said("1"), days_said("2"), days_said("14")
    ('today', 'since yesterday', 'last 14 days')
    """
    return {"1": "today", "2": "since yesterday"}.get(days, f"last {days} days")
