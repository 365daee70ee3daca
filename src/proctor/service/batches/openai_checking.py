"""Whether a file can be a batch: faults by line as OpenAI's API lists them, and the one model that it names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor.errors import ConfigError, NotFound
from proctor.service.batches import openai_models
from proctor.service.context import Context
from proctor.sources.batches.lines import BadRequestLine, parse
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
    total = 0
    models: dict[Any, int] = {}
    errors: list[dict[str, Any]] = []
    seen: set[str] = set()
    with path.open("rb") as file:
        for number, text in enumerate(file, 1):
            if not text.strip():
                continue
            total += 1
            try:
                line = parse(text)
            except BadRequestLine as error:
                errors.append(
                    {"code": error.code, "message": str(error), "param": error.param, "line": number}
                )
                continue
            if line.url != row.endpoint:
                errors.append(
                    {
                        "code": "invalid_url",
                        "message": "url is not the batch's endpoint",
                        "param": "url",
                        "line": number,
                    }
                )
            if line.custom_id in seen:
                errors.append(
                    {
                        "code": "duplicate_custom_id",
                        "message": "custom_id twice",
                        "param": "custom_id",
                        "line": number,
                    }
                )
            seen.add(line.custom_id)
            models.setdefault(line.body.get("model"), number)
            if len(models) > 1:
                errors.append(
                    {
                        "code": "mismatched_model",
                        "message": "another model",
                        "param": "body.model",
                        "line": number,
                    }
                )
    if total > context.settings.batch_requests:
        return Checked(
            total, None, [{"code": "too_many_tasks", "message": "too many", "param": None, "line": None}]
        )
    if errors or not total:
        return Checked(
            total,
            None,
            errors[:LISTED]
            or [{"code": "empty_file", "message": "no requests", "param": None, "line": None}],
        )
    return _with_model(context, total, str(next(iter(models))))


def _with_model(context: Context, total: int, name: str) -> Checked:
    try:
        return Checked(total, openai_models.resolved(context, name))
    except (ConfigError, NotFound) as error:
        told = {"code": "model_not_found", "message": str(error), "param": "body.model", "line": 1}
        return Checked(total, None, [told])
