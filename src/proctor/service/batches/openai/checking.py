"""Whether a file can be a batch: faults by line as OpenAI's API lists them, and the one model that it names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor.errors import ConfigError, DataError, NotFound
from proctor.references import BatchRef
from proctor.service.batches.openai import models as openai_models
from proctor.service.context import Context
from proctor.sources.batches.check import check
from proctor.sources.batches.checked import CheckedFile, LineFault, Rules
from proctor.types import Model

FORM = "JSON lines"
NO_LINES = "The file is no file of JSON lines"


@dataclass(frozen=True, slots=True)
class FileFound:
    """What a file was found to be. `model` is None where `errors` say why there can be no run."""

    total: int
    model: Model | None
    errors: Sequence[dict[str, Any]] = ()


def checked(context: Context, path: Path, ref: BatchRef) -> FileFound:
    """Read a file of requests from end to end. Raises: DataMissing."""
    rules = Rules(endpoint=ref.endpoint, one_model=True, complete=True, most=context.settings.batch_requests)
    try:
        found = check(path, ref, rules)
    except (ConfigError, DataError) as error:
        return _refused(0, LineFault(None, "invalid_json_line", f"{NO_LINES}: {error}"))
    if not found.ok:
        return _refused(found.lines, *found.faults)
    if found.form != FORM:
        return _refused(0, LineFault(None, "invalid_json_line", f"{NO_LINES}, but of {found.form}"))
    return _with_model(context, found)


def _with_model(context: Context, found: CheckedFile) -> FileFound:
    if sum(found.models.values()) < found.count:
        told = "Each request names its model"
        return _refused(found.lines, LineFault(None, "missing_required_parameter", told, "body.model"))
    (name,) = found.models
    try:
        return FileFound(found.count, openai_models.resolved(context, name))
    except (ConfigError, NotFound) as error:
        return _refused(found.lines, LineFault(1, "model_not_found", str(error), "body.model"))


def _refused(total: int, *faults: LineFault) -> FileFound:
    return FileFound(total, None, [fault.openai() for fault in faults])
