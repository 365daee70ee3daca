"""Which runs of batches went on before: those that write into a file, and those of a file of requests."""

from __future__ import annotations

import json

from sqlalchemy import ColumnElement, select

from proctor.store.core.runs import RunStore, run_from
from proctor.store.core.tables import RUN
from proctor.types import Model, Run

MOST = 100  # runs that are looked at


def written_to(store: RunStore, out: str) -> list[Run]:
    """The runs whose replies go into the file of this path, the newest first."""
    told = f'"out": {json.dumps(out, ensure_ascii=False)}'
    return _found(store, RUN.c.cell.contains(told, autoescape=True))


def of_requests(store: RunStore, listed: str, model: Model) -> list[Run]:
    """Runs of a model on sources that lists call so, the newest first."""
    return _found(store, RUN.c.source == listed, RUN.c.provider == model.provider, RUN.c.model == model.name)


def _found(store: RunStore, *which: ColumnElement[bool]) -> list[Run]:
    query = select(RUN).where(*which).order_by(RUN.c.num.desc()).limit(MOST)
    with store.reading() as connection:
        return [run_from(row) for row in connection.execute(query)]
