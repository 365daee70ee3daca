"""The form of a new batch, and what it means: the API's own configuration, with what is wrong field by field."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pydantic import ValidationError
from starlette.datastructures import FormData

from proctor.plan import wanted_of
from proctor.plan.option import RunOption
from proctor.plan.values import Texts
from proctor.plan.wanted import BY_NAME, OF_BATCHES
from proctor.service.runs.requests import BatchConfig
from proctor.types import Cell
from proctor.web.starting.forms import (
    FormField,
    as_text,
    chosen_models,
    fault_of,
    form_field,
    reason,
    told,
)

# How lines are read is said of the data set; the address stands beside the model.
ELSEWHERE = ("columns", "template", "system", "lenient", "base_url")
SHOWN = {option.key: option for option in OF_BATCHES if option.at_server and option.name not in ELSEWHERE}
TOLD_HERE = {"limit": ("Requests at most", "The first N requests of the file.")}


def _field(key: str, option: RunOption) -> FormField:
    made = form_field(key, option)
    label, hint = TOLD_HERE.get(key, (made.label, made.hint))
    return replace(made, label=label, hint=hint)


SENT_FIELDS, LIMIT_FIELDS = (
    tuple(_field(key, option) for key, option in SHOWN.items() if (option.part == "source") is of_source)
    for of_source in (True, False)
)
LABELS = {
    "model": "Model",
    "models": "Models",
    "provider": "Provider",
    "dataset": "Dataset",
    "base_url": "Address",
} | {key: option.title for key, option in SHOWN.items()}
PLAIN = {option.key: option for option in OF_BATCHES if option.at_server}
PRIORITIES = ("high", "normal", "low")
__all__ = ["LABELS", "LIMIT_FIELDS", "PRIORITIES", "SENT_FIELDS", "BatchFilled", "FormField", "batch_filled"]


@dataclass(frozen=True, slots=True)
class BatchFilled:
    """The form as it was filled in. `config` is None where `errors` (field -> reason) say why."""

    values: Mapping[str, str]
    config: BatchConfig | None
    errors: Mapping[str, str] = field(default_factory=dict)
    models: tuple[str, ...] = ()

    @property
    def dataset(self) -> str:
        return self.values.get("dataset", "")

    @property
    def project(self) -> int:
        said = self.values.get("project", "")
        return int(said) if said.isdigit() and len(said) < 10 else 1

    @property
    def priority(self) -> str:
        said = self.values.get("priority", "")
        return said if said in PRIORITIES else "high"

    def curl(self, base: str) -> str:
        """The same thing by the REST API: a line for each model."""
        config = self.config.model_dump(exclude_none=True) if self.config else {}
        bodies = [{"model_id": model, "dataset_id": self.dataset, **config} for model in self.models]
        said = [shlex.quote(json.dumps(body, ensure_ascii=False)) for body in bodies]
        post = f"curl -X POST {base}/admin/benchmarks/run -H 'Content-Type: application/json' -d"
        return "\n".join(f"{post} {each}" for each in said)


def batch_filled(form: FormData) -> BatchFilled:
    """Read a form."""
    values = {name: str(value) for name, value in form.multi_items() if name != "models"}
    values = {name: value if _lines(name) else value.strip() for name, value in values.items()}
    models = chosen_models(form)
    if fault := fault_of(models):
        return BatchFilled(values, None, {"models": fault}, models)
    try:
        return BatchFilled(values, BatchConfig.model_validate(told(values, PLAIN)), models=models)
    except ValidationError as error:
        faults = {str(each["loc"][0]): reason(each["msg"]) for each in error.errors()}
        return BatchFilled(values, None, faults, models)


def _lines(name: str) -> bool:
    return name in PLAIN and isinstance(PLAIN[name].kind, Texts)


def values_of(cell: Cell) -> dict[str, str]:
    """A batch's settings as the form's fields: no more than what differs from the defaults."""
    found = {"provider": cell.model.provider, "model": cell.model.name}
    for name, value in wanted_of(cell).given.items():
        option = BY_NAME[name]
        if option.key in SHOWN:
            found[option.key] = as_text(option, value)
    return found
