"""Models on record: what providers told of them, and what a person wrote, which no list changes any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import delete, select

from proctor.store.core.batch_tables import MODEL_REGISTRY
from proctor.store.core.schema import Database
from proctor.store.core.tables import RUN

ENDED = 500  # batches that are looked at for the speed of their models, the newest


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A model as it is kept, by `provider/name`. None is what nobody told."""

    model_id: str
    name: str
    updated_at: float
    parameters: str | None = None
    size_bytes: float | None = None
    memory_bytes: float | None = None
    context_tokens: int | None = None
    quantization: str | None = None
    tokens_per_s: float | None = None
    measured_at: float | None = None
    note: str | None = None
    edited: bool = False


@dataclass(frozen=True, slots=True)
class MeasuredBatch:
    """A batch that has ended: of which model, how long it took in all, and its summary as JSON."""

    model_id: str
    finished_at: float
    elapsed_s: float
    summary: str


def rows(store: Database) -> list[ModelRow]:
    """By their ids."""
    with store.reading() as connection:
        found = connection.execute(select(MODEL_REGISTRY).order_by(MODEL_REGISTRY.c.model_id)).mappings()
        return [ModelRow(**row) for row in found]


def row(store: Database, model_id: str) -> ModelRow | None:
    with store.reading() as connection:
        query = select(MODEL_REGISTRY).where(MODEL_REGISTRY.c.model_id == model_id)
        found = connection.execute(query).mappings().one_or_none()
        return None if found is None else ModelRow(**found)


def listed(store: Database, told: Sequence[ModelRow]) -> None:
    """Keep what providers tell of their models; rows that a person has written stay as they are."""
    if told:
        _write(store, told, over_edited=False)


def put(store: Database, told: ModelRow) -> None:
    """Keep what a person writes."""
    _write(store, [told], over_edited=True)


def _write(store: Database, told: Sequence[ModelRow], *, over_edited: bool) -> None:
    insert = store.insert(MODEL_REGISTRY)
    # In one order, so that two who write the same models do not wait for each other in a circle.
    values = [asdict(each) for each in sorted(told, key=lambda each: each.model_id)]
    changed = {name: insert.excluded[name] for name in values[0] if name != "model_id"}
    kept = None if over_edited else MODEL_REGISTRY.c.edited.is_(False)
    with store.whole.writing() as connection:
        connection.execute(
            insert.on_conflict_do_update(index_elements=["model_id"], set_=changed, where=kept), values
        )


def remove(store: Database, model_id: str) -> bool:
    """False where there is no such row."""
    with store.whole.writing() as connection:
        gone = delete(MODEL_REGISTRY).where(MODEL_REGISTRY.c.model_id == model_id)
        return connection.execute(gone).rowcount > 0


def ended_batches(store: Database) -> list[MeasuredBatch]:
    """The newest first."""
    query = (
        select(RUN.c.provider, RUN.c.model, RUN.c.finished_at, RUN.c.elapsed_s, RUN.c.summary)
        .where(
            RUN.c.finished_at.is_not(None),
            RUN.c.elapsed_s > 0,
            RUN.c.summary.is_not(None),
            RUN.c.cell.contains('"kind": "batch"'),
        )
        .order_by(RUN.c.num.desc())
        .limit(ENDED)
    )
    with store.reading() as connection:
        return [
            MeasuredBatch(f"{each.provider}/{each.model}", each.finished_at, each.elapsed_s, each.summary)
            for each in connection.execute(query)
        ]
