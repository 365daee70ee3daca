"""The form of a new run, and what it means: the same request that the API takes, with what is wrong field by field."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError
from starlette.datastructures import FormData

from proctor.service.kinds import exam_ref
from proctor.service.runs.requests import PlanRequest
from proctor.types import Cell

# Fields of the form that stand in the request's `config` under the same name.
CONFIG = (
    "provider",
    "model",
    "base_url",
    "preset",
    "limit",
    "repeats",
    "data",
    "wording",
    "timeout",
    "wait_for_server",
    "max_cost_usd",
    "max_total_tokens",
    "parallel",
)
OLLAMA = (
    "temperature",
    "top_p",
    "top_k",
    "num_predict",
    "num_ctx",
    "seed",
    "min_p",
    "repeat_penalty",
    "repeat_last_n",
)
# What the form is called on a page, for messages.
LABELS = {
    "model": "Model",
    "provider": "Provider",
    "custom": "Custom Configuration",
    "top_p": "Top P",
    "top_k": "Top K",
    "num_predict": "Num Predict",
    "num_ctx": "Num Context",
    "seed": "Seed",
    "temperature": "Temperature",
    "max_cost_usd": "Cost limit",
    "max_total_tokens": "Token limit",
    "parallel": "Concurrency",
}
WORDINGS: Mapping[str, int | str] = {"1": 1, "2": 2, "3": 3, "all": "all"}


@dataclass(frozen=True, slots=True)
class Filled:
    """The form as it was filled in. `request` is None where `errors` (field -> reason) say why."""

    values: Mapping[str, str]
    tasks: tuple[str, ...]
    request: PlanRequest | None
    errors: Mapping[str, str] = field(default_factory=dict)


def filled(form: FormData) -> Filled:
    """Read a form."""
    values = {name: str(value).strip() for name, value in form.multi_items() if name != "tasks"}
    tasks = tuple(str(value) for value in form.getlist("tasks"))
    try:
        body = _body(values, tasks)
        return Filled(values, tasks, PlanRequest.model_validate(body))
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        return Filled(values, tasks, None, {"custom": f"This is not JSON: {error.msg} at {where}"})
    except _NotMeant as error:
        return Filled(values, tasks, None, {"custom": str(error)})
    except ValidationError as error:
        return Filled(
            values, tasks, None, {_name(each["loc"]): _reason(each["msg"]) for each in error.errors()}
        )


class _NotMeant(Exception):
    """A custom configuration that is JSON and still cannot be meant."""


def _body(values: Mapping[str, str], tasks: tuple[str, ...]) -> dict[str, Any]:
    config: dict[str, Any] = {name: values[name] for name in CONFIG if values.get(name)}
    if "wording" in config:
        config["wording"] = WORDINGS.get(config["wording"], config["wording"])
    if tasks:
        config["tasks"] = list(tasks)
    if config.get("limit"):
        config.pop("preset", None)
    drawn = {name: values[f"ollama_{name}"] for name in OLLAMA if values.get(f"ollama_{name}")}
    if drawn:
        config["ollama_params"] = drawn
    config |= _custom(values.get("custom", ""), config)
    return {
        "project_id": values.get("project") or 1,
        "suite": values.get("suite") or "glue",
        "config": config,
        "priority": values.get("priority") or "high",
        "difference": values.get("difference") or None,
    }


def _custom(text: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """What the JSON says; a field of the form that it sets too would leave open which one counts."""
    if not text:
        return {}
    found = json.loads(text)
    if not isinstance(found, dict):
        raise _NotMeant('Give a JSON object, such as {"temperature": 0.2}')
    twice = sorted(set(found) & set(config) - {"provider", "model"})
    if twice:
        raise _NotMeant(f"{', '.join(twice)}: set in the form too; set it in one place only")
    if {"provider", "model"} & set(found):
        raise _NotMeant("provider and model are chosen above")
    return found


def _name(where: tuple[int | str, ...]) -> str:
    """The form's name of a field of the request.

    >>> _name(("config", "ollama_params", "top_p")), _name(("config", "model"))
    ('ollama_top_p', 'model')
    """
    parts = [str(part) for part in where if part != "config"]
    known = {"project_id": "project"}
    if parts[0] == "ollama_params" and len(parts) > 1:
        return f"ollama_{parts[1]}"
    return (
        known.get(parts[0], parts[0])
        if parts[0] in (*CONFIG, "suite", "priority", "difference", "project_id")
        else "custom"
    )


def _reason(told: str) -> str:
    return told.replace("Input should be", "must be").replace(
        "Extra inputs are not permitted", "unknown setting"
    )


def curl(request: PlanRequest, base: str) -> str:
    """The same thing by the REST API."""
    body = request.model_dump(exclude_none=True, exclude_defaults=True)
    body = {"project_id": request.project_id, "suite": request.suite, **body}
    body.pop("difference", None)
    told = json.dumps(body, ensure_ascii=False)
    return f"curl -X POST {base}/api/v1/benchmarking/run -H 'Content-Type: application/json' -d {shlex.quote(told)}"


def command(request: PlanRequest, cell: Cell) -> str:
    """The same thing on the command line."""
    source, sampling, limits = exam_ref(cell.source), cell.sampling, cell.limits
    given = request.config.model_fields_set | (
        request.config.ollama_params.model_fields_set if request.config.ollama_params else set()
    )
    options: dict[str, object] = {
        "--model": cell.model,
        "--base-url": cell.model.base_url,
        "--tasks": ",".join(source.tasks),
        "--preset": source.preset,
        "--limit": source.limit,
        "--data": source.rows,
        "--repeats": cell.repeats if cell.repeats > 1 else None,
        "--wording": source.wording if source.wording != 1 else None,
        "--temperature": sampling.temperature if "temperature" in given else None,
        "--top-p": sampling.top_p,
        "--top-k": sampling.top_k,
        "--min-p": sampling.min_p,
        "--repeat-penalty": sampling.repeat_penalty,
        "--repeat-last-n": sampling.repeat_last_n,
        "--max-tokens": or_free(sampling.max_tokens) if {"max_tokens", "num_predict"} & given else None,
        "--context-tokens": sampling.context_tokens if "num_ctx" in given else None,
        "--seed": or_free(sampling.seed) if "seed" in given else None,
        "--parallel": limits.parallel,
        "--max-cost": limits.max_cost_usd,
        "--wait-for-server": request.config.wait_for_server,
    }
    words = [
        word for name, value in options.items() if value not in (None, "") for word in (name, str(value))
    ]
    return shlex.join(["proctor", "run", source.name, *words])


def or_free(number: int | None) -> int:
    """-1 where a number was left open: without the option it would be the default."""
    return -1 if number is None else number
