"""What the server is asked to run: the words of the outside, and how they become a plan.

The API takes them as JSON and the dashboard from its form, so that both mean the same by the same words. The options
among them, with their ranges, come from the table in plan/wanted.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from proctor.errors import ConfigError
from proctor.plan import Wanted, batch_reference, build, check, reference
from proctor.plan.doors import from_config
from proctor.plan.option import RunOption
from proctor.plan.values import OPEN, Duration, Flag, NumberIn, OneOf, Text, Texts
from proctor.plan.wanted import OF_BATCHES, OF_EXAMS
from proctor.providers import PROVIDERS
from proctor.references import BatchRef, ExamRef
from proctor.service.context import Context
from proctor.service.datasets.kept import ref_named
from proctor.service.opening.needs import bring
from proctor.service.opening.sources import model_named
from proctor.settings import Settings
from proctor.sources.exams.source import task_keys
from proctor.sources.exams.tables.tasks import suite_named
from proctor.types import Limits, Plan

Priority = Literal["high", "normal", "low"]


class Body(BaseModel):
    """A request's body: a field that is not known is an error, not a wish unheard."""

    model_config = ConfigDict(extra="forbid")


def options_body(key: Callable[[RunOption], str], options: Sequence[RunOption] = OF_EXAMS) -> type[Body]:
    """A body with a field for each option that has a spelling there."""
    named = {key(option): option for option in options if option.at_server and key(option)}
    fields: dict[str, Any] = {name: _field(option) for name, option in named.items()}
    return create_model("Options", __base__=Body, **fields)


def _field(option: RunOption) -> tuple[Any, Any]:
    """What pydantic has to know of an option: its type with its range, and its field; None is not given."""
    told = f"Default: {option.default_told.replace('--', '')}." if option.default_told else ""
    about = " ".join(filter(None, (option.help, told)))
    return _type(option) | None, Field(None, description=about)


def _type(option: RunOption) -> Any:
    match option.kind:
        case NumberIn() as kind:
            return _number(kind)
        case OneOf(values):
            words = tuple(value for value in values.values() if not isinstance(value, bool))
            return Literal[words] if len(words) == len(values) else bool | Literal[words]
        case Duration():
            return Annotated[str, Field(max_length=20, examples=[option.kind.word(option.default or 600.0)])]
        case Flag():
            return bool
        case Text(longest):
            return Annotated[str, Field(max_length=longest)]
        case Texts(most):
            return Annotated[list[str], Field(max_length=most)]
    raise TypeError(f"{option.name}: no JSON type for {type(option.kind).__name__}")


def _number(kind: NumberIn) -> Any:
    low, high = kind.served or (kind.low, kind.high)
    above = kind.above if low in (None, kind.above) else None
    least = OPEN if kind.opens else None if above is not None else low
    range_ = Field(ge=least, gt=above, le=high)
    base = int if kind.whole else float
    if not kind.opens:
        return Annotated[base, range_]

    def open_or_within(value: float) -> float:
        fault = None if value == OPEN else kind.fault(value)
        if fault:
            raise ValueError(f"{fault}, or be {OPEN}")
        return value

    return Annotated[base, range_, AfterValidator(open_or_within)]


class OllamaParams(options_body(lambda option: option.ollama)):  # type: ignore[misc]  # fields are the table's
    """How Ollama draws; what is left out takes proctor's own default, and -1 means what Ollama means by it.

    That is no limit for `num_predict`, and another seed each time for `seed`.
    """


class RunConfig(options_body(lambda option: option.key)):  # type: ignore[misc]  # fields are the table's
    """Which model, how it is asked, and how many items; without a size the quick preset."""

    provider: str = Field(max_length=50)
    model: str = Field(min_length=1, max_length=300)
    ollama_params: OllamaParams | None = None


class BatchConfig(options_body(lambda option: option.key, OF_BATCHES)):  # type: ignore[misc]  # as above
    """How the requests of a file are sent, and how many."""


class RunRequest(Body):
    """One model on one suite."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "project_id": 1,
                    "suite": "glue",
                    "config": {
                        "provider": "ollama",
                        "model": "mistral:latest",
                        "ollama_params": {"temperature": 0.1, "top_p": 0.9},
                    },
                }
            ]
        },
    )

    project_id: int = Field(ge=1, le=2**31 - 1)
    suite: str = Field("glue", max_length=100)
    config: RunConfig
    priority: Priority = "high"


class PlanRequest(RunRequest):
    """What `POST /run` takes, and a difference that the user would like to see."""

    difference: float | None = Field(None, gt=0, lt=1)


def wanted_by(request: RunRequest) -> Wanted:
    """What a request asks for, in the words of every door. Raises ConfigError."""
    config = request.config
    given = from_config(config.model_dump(exclude_none=True))
    return Wanted(request.suite, (f"{config.provider}/{config.model}",), given)


def plan_for(context: Context, request: RunRequest) -> Plan:
    """The plan of a request, whose `suite` may name a data set of its project. Raises ConfigError, DataError."""
    uploaded = ref_named(context, request.suite, request.project_id)
    bring(context, [uploaded] if uploaded else ())
    return plan_of(request, context.settings, uploaded=uploaded)


def plan_for_all(context: Context, requests: Sequence[RunRequest]) -> Plan:
    """The plan of requests that are alike but for the model: a cell each, on the same questions. Raises as above."""
    plans = [plan_for(context, request) for request in requests]
    return replace(plans[0], cells=tuple(cell for plan in plans for cell in plan.cells))


def plan_of(request: RunRequest, settings: Settings, *, uploaded: ExamRef | None = None) -> Plan:
    """The plan that a request means. Raises ConfigError, with the documented text for an unknown suite."""
    suite = suite_named(request.suite).key if uploaded is None else uploaded.name
    provider = request.config.provider
    if provider not in PROVIDERS:
        raise ConfigError(f"Unknown provider {provider!r}; choose from {', '.join(PROVIDERS)}")
    if provider == "replay":
        raise ConfigError(
            "replay answers from a file of replies: `proctor run SUITE --model replay/NAME --replies FILE`"
        )
    wanted = replace(wanted_by(request), source=suite)
    model = model_named(wanted.models[0], settings, base_url=wanted.given.get("base_url"))
    if request.config.ollama_params is not None and model.provider != "ollama":
        raise ConfigError(
            f"ollama_params do not go with {model.provider}: give temperature, top_p, ... in config"
        )
    source = _suite(wanted) if uploaded is None else _dataset(uploaded, wanted)
    return build(wanted, source, [model], base=Limits(timeout_s=settings.job_timeout_s))


def _dataset(uploaded: ExamRef, wanted: Wanted) -> ExamRef:
    """Without a size all of it."""
    return reference("dataset", uploaded.name, wanted.of("source"), uploaded=uploaded)


def _suite(wanted: Wanted) -> ExamRef:
    """The reference, its tasks known: an unknown one is named now, not when the job begins, which may be at night."""
    source = reference("suite", wanted.source, wanted.of("source"))
    task_keys(source)
    return source


def batch_plan(
    uploaded: BatchRef, model: str, config: BatchConfig, settings: Settings, *, base_url: str | None = None
) -> Plan:
    """The plan that sends an uploaded file of requests to a model, `provider/name`. Raises: ConfigError.

    `base_url` is the model's where the server itself knows it; who asks may say another.
    """
    given = from_config(config.model_dump(exclude_none=True))
    if (gold := given.get("gold")) and ("/" in gold or "\\" in gold):
        raise ConfigError("gold: give a field of the lines; the server opens no files by their paths")
    wanted = Wanted(uploaded.name, (model,), given, "batch run")
    source = batch_reference(uploaded.name, wanted.of("source"), uploaded=uploaded)
    asked = model_named(model, settings, base_url=given.get("base_url") or base_url)
    return check(build(wanted, source, [asked], base=Limits(timeout_s=settings.job_timeout_s)))
