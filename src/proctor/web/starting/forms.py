"""The form of a new run, and what it means: the same request that the API takes, with what is wrong field by field."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from pydantic import ValidationError
from starlette.datastructures import FormData

from proctor.plan import wanted_of
from proctor.plan.doors import as_command
from proctor.plan.option import RunOption
from proctor.plan.values import OPEN, Flag, NumberIn, OneOf, Texts
from proctor.plan.wanted import BY_NAME, OF_EXAMS
from proctor.service.runs.requests import PlanRequest, wanted_by
from proctor.types import Cell

YES = "yes"  # a flag that is on
MOST_MODELS = 8  # that one submit may start
SHORT = 10  # characters of a default that an empty input shows; a longer one stands below it

SERVED = tuple(option for option in OF_EXAMS if option.at_server)
# Numbers of Ollama's own card; with other models they are words of the custom configuration.
DRAWN = tuple(option for option in SERVED if option.ollama and isinstance(option.kind, NumberIn))
PLAIN = {option.key: option for option in SERVED}
# Those of PLAIN that have an input of their own; the others are words of the custom configuration.
SHOWN = {key: option for key, option in PLAIN.items() if option not in DRAWN and "suite" in option.sources}
OLLAMA = {f"ollama_{option.ollama}": option for option in DRAWN}
# What the form is called on a page, for messages.
LABELS = {
    "model": "Model",
    "models": "Models",
    "provider": "Provider",
    "project": "Project ID",
    "suite": "Benchmark Suite",
    "difference": "Difference you want to see",
    "priority": "Priority",
    "custom": "Custom Configuration",
    **{key: option.title for key, option in (PLAIN | OLLAMA).items()},
}


@dataclass(frozen=True, slots=True)
class FormField:
    """An option as an input: its name in the form, and what an `input`, `select` or `textarea` is told of it."""

    name: str
    label: str
    hint: str
    kind: Literal["number", "text", "select", "lines"]
    step: str = ""
    least: str = ""
    most: str = ""
    placeholder: str = ""
    choices: tuple[str, ...] = ()


def form_field(name: str, option: RunOption) -> FormField:
    """The input of an option, under a name of PLAIN or OLLAMA."""
    kind, unset = option.kind, option.default_told.replace("--", "")
    short = len(unset) <= SHORT
    hint = option.help if short else f"{option.help.rstrip('.')}; default: {unset}."
    field_of = partial(FormField, name, option.title, hint, placeholder=unset if short else "")
    if isinstance(kind, OneOf | Flag):
        words = tuple(kind.values) if isinstance(kind, OneOf) else (YES,)
        nothing = f"{unset} (default)" if unset and short else "not set"
        return replace(field_of("select", choices=words), placeholder=nothing)
    if isinstance(kind, Texts) and not kind.commas:
        return replace(field_of("lines"), placeholder="one a line")
    if not isinstance(kind, NumberIn):
        return field_of("text")
    low, high = kind.served or (kind.low, kind.high)
    step = "1" if kind.whole else "0.01"
    least = str(OPEN) if kind.opens else step if low == kind.above else "" if low is None else f"{low:g}"
    return field_of("number", step, least, "" if high is None else f"{high:.0f}")


@dataclass(frozen=True, slots=True)
class Filled:
    """The form as it was filled in. `request` is None where `errors` (field -> reason) say why.

    `requests` are one for each of `models`, alike but for the model.
    """

    values: Mapping[str, str]
    tasks: tuple[str, ...]
    request: PlanRequest | None
    errors: Mapping[str, str] = field(default_factory=dict)
    models: tuple[str, ...] = ()
    requests: tuple[PlanRequest, ...] = ()


def filled(form: FormData) -> Filled:
    """Read a form."""
    values = {
        name: _tidy(name, str(value)) for name, value in form.multi_items() if name not in ("tasks", "models")
    }
    tasks, models = tuple(map(str, form.getlist("tasks"))), chosen_models(form)
    of = Filled(values, tasks, None, models=models)
    if fault := fault_of(models):
        return replace(of, errors={"models": fault})
    try:
        bodies = [_body({**values, **_named(model)}, tasks, models) for model in models or ("",)]
        requests = tuple(map(PlanRequest.model_validate, bodies))
        return replace(of, request=requests[0], requests=requests)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        return replace(of, errors={"custom": f"This is not JSON: {error.msg} at {where}"})
    except _NotMeant as error:
        return replace(of, errors={"custom": str(error)})
    except ValidationError as error:
        told = {_name(each["loc"], values): reason(each["msg"]) for each in error.errors()}
        return replace(of, errors=told)


def chosen_models(form: FormData) -> tuple[str, ...]:
    """The models that a form names, PROVIDER/NAME: each once, one a line or a field; or its `provider` and `model`."""
    lines = [line.strip() for value in form.getlist("models") for line in str(value).splitlines()]
    named = tuple(dict.fromkeys(line for line in lines if line))
    if named:
        return named
    provider, model = (str(form.get(name) or "").strip() for name in ("provider", "model"))
    return (f"{provider}/{model}",) if provider and model else ()


def fault_of(models: Sequence[str]) -> str | None:
    """What is wrong with the choice of models, if anything is."""
    if len(models) > MOST_MODELS:
        return f"{len(models)} are chosen; {MOST_MODELS} may be started at once"
    odd = [model for model in models if not all(model.partition("/"))]
    return f"{odd[0][:80]!r}: write PROVIDER/NAME, such as ollama/mistral" if odd else None


def _named(model: str) -> dict[str, str]:
    provider, _, name = model.partition("/")
    return {"provider": provider, "model": name} if name else {}


def _tidy(name: str, value: str) -> str:
    """Spaces around a value mean nothing, but in texts of which each stands on a line of its own."""
    lines = name in PLAIN and isinstance(PLAIN[name].kind, Texts)
    return value if lines else value.strip()


class _NotMeant(Exception):
    """A custom configuration that is JSON and still cannot be meant."""


def _body(values: Mapping[str, str], tasks: tuple[str, ...], models: Sequence[str]) -> dict[str, Any]:
    config: dict[str, Any] = {name: values[name] for name in ("provider", "model") if values.get(name)}
    config |= told(values, PLAIN)
    if tasks:
        config["tasks"] = list(tasks)
    drawn = told(values, OLLAMA)
    # The same words for every model that is compared: Ollama's own ones where all of them are Ollama's.
    if drawn and all(model.startswith("ollama/") for model in models or ("ollama/",)):
        config["ollama_params"] = {OLLAMA[name].ollama: value for name, value in drawn.items()}
    twice = {OLLAMA[name].key: value for name, value in drawn.items()}
    if "ollama_params" not in config:
        config |= twice
    config |= _custom(values.get("custom", ""), {*config, *twice})
    return {
        "project_id": values.get("project") or 1,
        "suite": values.get("suite") or "glue",
        "config": config,
        "priority": values.get("priority") or "high",
        "difference": values.get("difference") or None,
    }


def told(values: Mapping[str, str], options: Mapping[str, RunOption]) -> dict[str, Any]:
    """What fields say, as JSON would; numbers stay text, which the request reads and finds fault with."""
    return {name: _as_json(option, values[name]) for name, option in options.items() if values.get(name)}


def _as_json(option: RunOption, text: str) -> Any:
    match option.kind:
        case OneOf(known):
            return known.get(text, text)
        case Flag():
            return text == YES
        case Texts(_, commas):
            lines = [unescaped(line) for line in re.split(r"\r\n|\r|\n", text) if line]
            return list(option.kind.read(text)) if commas else lines
    return text


def unescaped(line: str) -> str:
    r"""A text that was written on one line.

    >>> unescaped(r"a\nb\\n")
    'a\nb\\n'
    """
    return re.sub(r"\\([\\nr])", lambda found: {"n": "\n", "r": "\r"}.get(found[1], found[1]), line)


def escaped(text: str) -> str:
    r"""A text on one line; `unescaped` gives it back."""
    return text.replace("\\", r"\\").replace("\r", r"\r").replace("\n", r"\n")


def form_values(cell: Cell) -> dict[str, str]:
    """A run's settings as the form's fields: no more than what differs from the defaults, and no tasks."""
    wanted = wanted_of(cell)
    found = {"provider": cell.model.provider, "model": cell.model.name, "suite": wanted.source}
    for name, value in wanted.given.items():
        option = BY_NAME[name]
        if name != "tasks":
            found[f"ollama_{option.ollama}" if option in DRAWN else option.key] = as_text(option, value)
    return found


def as_text(option: RunOption, value: Any) -> str:
    if isinstance(option.kind, Flag):
        return YES
    if isinstance(option.kind, Texts) and not option.kind.commas:
        return "\n".join(map(escaped, value))
    return option.kind.word(value)


def _custom(text: str, said: Set[str]) -> dict[str, Any]:
    """What the JSON says; a field of the form that it sets too would leave open which one counts."""
    if not text:
        return {}
    found = json.loads(text)
    if not isinstance(found, dict):
        raise _NotMeant('Give a JSON object, such as {"temperature": 0.2}')
    twice = sorted(set(found) & said - {"provider", "model"})
    if twice:
        raise _NotMeant(f"{', '.join(twice)}: set in the form too; set it in one place only")
    if {"provider", "model"} & set(found):
        raise _NotMeant("provider and model are chosen above")
    return found


def _name(where: tuple[int | str, ...], values: Mapping[str, str]) -> str:
    """The form's name of a field of the request.

    >>> _name(("config", "ollama_params", "top_p"), {}), _name(("config", "model"), {})
    ('ollama_top_p', 'model')
    >>> _name(("config", "top_p"), {"ollama_top_p": "2"}), _name(("config", "top_p"), {})
    ('ollama_top_p', 'custom')
    """
    parts = [str(part) for part in where if part != "config"]
    known = {"project_id": "project"}
    if parts[0] == "ollama_params" and len(parts) > 1:
        return f"ollama_{parts[1]}"
    drawn = next((name for name, option in OLLAMA.items() if option.key == parts[0]), "")
    if values.get(drawn):
        return drawn
    return (
        known.get(parts[0], parts[0])
        if parts[0] in (*SHOWN, "provider", "model", "suite", "priority", "difference", "project_id")
        else "custom"
    )


def reason(told: str) -> str:
    return told.replace("Input should be", "must be").replace(
        "Extra inputs are not permitted", "unknown setting"
    )


def curl(requests: Sequence[PlanRequest], base: str) -> str:
    """The same thing by the REST API: a line for each model."""
    return "\n".join(_curl(each, base) for each in requests)


def _curl(request: PlanRequest, base: str) -> str:
    body = request.model_dump(exclude_none=True, exclude_defaults=True)
    body = {"project_id": request.project_id, "suite": request.suite, **body}
    body.pop("difference", None)
    told = json.dumps(body, ensure_ascii=False)
    return f"curl -X POST {base}/api/v1/benchmarking/run -H 'Content-Type: application/json' -d {shlex.quote(told)}"


def command(request: PlanRequest, cell: Cell, models: Sequence[str] = ()) -> str:
    """The same thing on the command line: what was said, and what this server's own defaults add to it."""
    said, made = wanted_by(request), wanted_of(cell)
    every = tuple(models) if len(models) > 1 else made.models
    return as_command(replace(made, models=every, given={**made.given, **said.given}))
