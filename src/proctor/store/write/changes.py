"""How a run moved from the one before it, kept in its summary: counted once, for ended runs do not change.

A run that is taken up again loses its summary, and with it what was kept here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson
from sqlalchemy import select, update

from proctor.store.core.schema import Database
from proctor.store.core.tables import RUN

NAME = "changes"  # in the summary
MOST_KEPT = 8  # of one run; who reaches other projects may have another run before it
AT_ONCE = 500


class Step(NamedTuple):
    """An ended run and one that ended before it: by their ids, with the moments at which they ended."""

    run: str
    ended_at: float
    before: str
    before_ended_at: float


def read(store: Database, steps: Sequence[Step], version: str) -> dict[Step, dict[str, Any]]:
    """What this version of proctor kept of them; a step of which nothing is kept is left out."""
    wanted = {step.run: step for step in steps}
    ids = list(wanted)
    found: dict[Step, dict[str, Any]] = {}
    with store.reading() as connection:
        for start in range(0, len(ids), AT_ONCE):
            some = ids[start : start + AT_ONCE]
            query = select(RUN.c.id, RUN.c.summary).where(RUN.c.id.in_(some), RUN.c.summary.contains(NAME))
            for run_id, text in connection.execute(query):
                step = wanted[run_id]
                kept = orjson.loads(text).get(NAME, {}).get(step.before)
                if kept is not None and kept["of"] == _of(step, version):
                    found[step] = kept["change"]
    return found


def keep(store: Database, step: Step, version: str, change: Mapping[str, Any]) -> None:
    """Keep it with the run, unless that was taken up again or deleted meanwhile."""
    as_it_ended = select(RUN.c.num, RUN.c.summary).where(
        RUN.c.id == step.run, RUN.c.finished_at == step.ended_at, RUN.c.summary.is_not(None)
    )
    with store.writing() as connection:
        row = connection.execute(as_it_ended.with_for_update()).one_or_none()
        if row is None:
            return
        summary = orjson.loads(row.summary)
        known = [each for each in summary.get(NAME, {}).items() if each[0] != step.before][1 - MOST_KEPT :]
        summary[NAME] = dict([*known, (step.before, {"of": _of(step, version), "change": dict(change)})])
        text = orjson.dumps(summary).decode()
        connection.execute(update(RUN).where(RUN.c.num == row.num).values(summary=text))


def _of(step: Step, version: str) -> list[Any]:
    return [version, step.ended_at, step.before_ended_at]
