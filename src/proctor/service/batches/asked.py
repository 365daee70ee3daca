"""Which data set a batch is of, and what its model is called: as people know them, not as a run's cell has them."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.references import BatchRef
from proctor.service.context import Context
from proctor.types import Model


@dataclass(frozen=True, slots=True)
class AskedOf:
    """A data set by its id and name, and how many requests it holds; of a file by its path, its name stands for all."""

    id: str
    name: str
    count: int | None


def asked_of(context: Context, ref: BatchRef, project_id: int) -> AskedOf:
    """A data set that was deleted is called as it was, and known by its content."""
    return AskedOf(ref.content or ref.listed, ref.listed, None)


def contents_of(context: Context, dataset_id: str) -> tuple[str, ...]:
    """The hashes of the files that a data set's id means: its own, or the hash itself of one that was deleted."""
    return (dataset_id,)


def model_name(context: Context, model: Model) -> str:
    return model.name
