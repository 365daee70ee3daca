"""What the workers of all machines last said of themselves: a row each, written every second."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson
from sqlalchemy import Row, delete, func, select

from proctor.errors import StoreError
from proctor.store.core.fleet_tables import WORKER
from proctor.store.core.schema import Database

FORGOTTEN_S = 86400.0  # so long after a worker's last sign its row goes
FRESH_S = 60.0
LATELY_S = 15.0


@dataclass(frozen=True, slots=True)
class Load:
    """What the processes of a job use: resident memory in bytes; processors, 1.0 is one wholly busy.

    `cores` is None until it has been measured twice.
    """

    memory_bytes: int
    cores: float | None


@dataclass(frozen=True, slots=True)
class WorkerSign:
    """What a worker says of itself; `at` is when (Unix).

    `waits_for` says why it takes no run at all; `lacks` what keeps it from single runs that wait, `loads` what its
    processes use, both by run. `took` are the runs that it took, the last of them, the oldest first. `part_of` names
    the worker of whose slots it is one: they count as one worker.
    """

    name: str
    host: str = ""
    home: str = ""  # its PROCTOR_HOME
    version: str = ""
    began_at: float = 0.0
    at: float = 0.0
    waits_for: str | None = None
    loads: Mapping[str, Load] = field(default_factory=dict)
    lacks: Mapping[str, str] = field(default_factory=dict)
    took: tuple[str, ...] = ()
    ended: bool = False
    part_of: str | None = None


_SAID = ("waits_for", "loads", "lacks", "took", "ended", "part_of")


def beat(store: Database, sign: WorkerSign) -> None:
    """Keep a worker's sign. A database that is lost or full must not end the worker: the next sign may come through."""
    told = asdict(sign)
    row = {
        **{name: told[name] for name in ("name", "host", "home", "version", "began_at")},
        "seen_at": sign.at,
        "said": orjson.dumps({name: told[name] for name in _SAID}).decode(),
    }
    kept = store.insert(WORKER).on_conflict_do_update(index_elements=[WORKER.c.name], set_=row)
    with suppress(StoreError), store.writing() as connection:
        connection.execute(kept, row)


def tidy(store: Database, *, now: float) -> None:
    """Remove what workers have left that are long gone, but for the last of them."""
    newest = select(func.max(WORKER.c.seen_at)).scalar_subquery()
    gone = delete(WORKER).where(WORKER.c.seen_at < now - FORGOTTEN_S, WORKER.c.seen_at < newest)
    with suppress(StoreError), store.writing() as connection:
        connection.execute(gone)


def signs(store: Database) -> list[WorkerSign]:
    """Of all workers of this database, those that have ended too; the newest first."""
    # Workers are nobody's; what they say of runs is shown to those who see the runs.
    with store.whole.reading() as connection:
        rows = connection.execute(select(WORKER).order_by(WORKER.c.seen_at.desc(), WORKER.c.name)).all()
    return [_read(row) for row in rows]


def lately(store: Database, *, now: float, within_s: float = LATELY_S) -> list[WorkerSign]:
    """The workers that are there: seen within so many seconds, and not ended."""
    there = [sign for sign in signs(store) if not sign.ended and now - sign.at < within_s]
    return [sign for sign in there if sign.part_of is None]


def _read(row: Row[Any]) -> WorkerSign:
    """What a newer or older proctor says otherwise is left out: it tells no more than its time."""
    who: dict[str, Any] = {
        name: getattr(row, name) for name in ("name", "host", "home", "version", "began_at")
    }
    try:
        said = orjson.loads(row.said)
        return WorkerSign(
            **who,
            at=row.seen_at,
            waits_for=said["waits_for"],
            loads={run: Load(**load) for run, load in said["loads"].items()},
            lacks=dict(said["lacks"]),
            took=tuple(said["took"]),
            ended=said["ended"],
            part_of=said["part_of"],
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return WorkerSign(**who, at=row.seen_at)
