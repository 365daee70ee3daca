"""Whether a file can be a batch: faults by line as OpenAI's API lists them, and the one model that it names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor.errors import ConfigError, NotFound
from proctor.references import BatchRef
from proctor.service.batches import openai_models
from proctor.service.context import Context
from proctor.sources.batches.check import check
from proctor.sources.batches.checked import Rules
from proctor.store.batches.entries import BatchRow
from proctor.types import Model

LISTED = 100


@dataclass(frozen=True, slots=True)
class Checked:
    """`model` is None where `errors` say why there can be no run."""

    total: int
    model: Model | None
    errors: Sequence[dict[str, Any]] = ()


def checked(context: Context, row: BatchRow, path: Path) -> Checked:
    rules = Rules(
        endpoint=row.endpoint,
        one_model=True,
        complete=True,
        most=context.settings.batch_requests,
        listed=LISTED,
    )
    found = check(path, BatchRef(str(path)), rules)
    if found.faults:
        return Checked(found.lines, None, [fault.openai() for fault in found.faults])
    return _with_model(context, found.count, next(iter(found.models), ""))


def _with_model(context: Context, total: int, name: str) -> Checked:
    try:
        return Checked(total, openai_models.resolved(context, name))
    except (ConfigError, NotFound) as error:
        told = {"code": "model_not_found", "message": str(error), "param": "body.model", "line": 1}
        return Checked(total, None, [told])
