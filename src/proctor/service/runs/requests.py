"""What the server is asked to run: the words of the outside, and how they become a plan.

The API takes them as JSON and the dashboard from its form, so that both mean the same by the same words.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from proctor.errors import ConfigError
from proctor.plan import parse_duration, unless_free
from proctor.providers import PROVIDERS
from proctor.service.context import Context
from proctor.service.datasets.kept import ref_named
from proctor.service.opening.sources import model_named
from proctor.settings import Settings
from proctor.sources.exams.source import task_keys
from proctor.sources.exams.tables.tasks import suite_named
from proctor.store.datasets.files import bring
from proctor.types import Cell, ExamRef, Limits, Plan, Sampling

Priority = Literal["high", "normal", "low"]


class Body(BaseModel):
    """A request's body: a field that is not known is an error, not a wish unheard."""

    model_config = ConfigDict(extra="forbid")


class OllamaParams(Body):
    """How Ollama draws; what is left out takes proctor's own default, and -1 means what Ollama means by it.

    That is no limit for `num_predict`, and another seed each time for `seed`.
    """

    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, ge=0, le=1)
    top_k: int | None = Field(None, ge=0, le=100)
    min_p: float | None = Field(None, ge=0, le=1)
    repeat_penalty: float | None = Field(None, ge=0, le=10)
    repeat_last_n: int | None = Field(None, ge=-1, le=1_000_000)
    num_predict: int | None = Field(None, ge=-1, le=10_000_000)
    num_ctx: int | None = Field(None, ge=1, le=100_000_000)
    seed: int | None = Field(None, ge=-1, le=2**31 - 1)
    stop: list[str] | None = Field(None, max_length=16)


class RunConfig(Body):
    """Which model, how it is asked, and how many items; without a size the quick preset."""

    provider: str = Field(max_length=50)
    model: str = Field(min_length=1, max_length=300)
    base_url: str | None = Field(None, max_length=500)
    ollama_params: OllamaParams | None = None
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, ge=0, le=1)
    max_tokens: int | None = Field(None, ge=1, le=10_000_000)
    seed: int | None = Field(None, ge=0, le=2**31 - 1)
    think: bool | Literal["low", "medium", "high", "max"] | None = None
    tasks: list[str] | None = Field(None, max_length=100)
    preset: Literal["quick", "standard", "full"] | None = None
    limit: int | None = Field(None, ge=1, le=1_000_000)
    repeats: int = Field(1, ge=1, le=100)
    data: Literal["imported", "hub", "sample"] | None = None
    wording: Literal[1, 2, 3, "all"] = 1
    timeout: str | None = Field(None, max_length=20, examples=["3h"])
    wait_for_server: str | None = Field(None, max_length=20, examples=["2m"])
    max_cost_usd: float | None = Field(None, gt=0, le=1_000_000)
    max_total_tokens: int | None = Field(None, ge=1, le=10**12)
    parallel: int | None = Field(None, ge=1, le=256)


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


def plan_for(context: Context, request: RunRequest) -> Plan:
    """The plan of a request, whose `suite` may name a data set of its project. Raises ConfigError, DataError."""
    uploaded = ref_named(context, request.suite, request.project_id)
    bring(context.store, [uploaded] if uploaded else (), context.settings)
    return plan_of(request, context.settings, uploaded=uploaded)


def plan_of(request: RunRequest, settings: Settings, *, uploaded: ExamRef | None = None) -> Plan:
    """The plan that a request means. Raises ConfigError, with the documented text for an unknown suite."""
    config = request.config
    source = _suite(request) if uploaded is None else _dataset(uploaded, config)
    if config.provider not in PROVIDERS:
        raise ConfigError(f"Unknown provider {config.provider!r}; choose from {', '.join(PROVIDERS)}")
    if config.provider == "replay":
        raise ConfigError(
            "replay answers from a file of replies: `proctor run SUITE --model replay/NAME --replies FILE`"
        )
    model = model_named(f"{config.provider}/{config.model}", settings, base_url=config.base_url)
    if config.ollama_params is not None and model.provider != "ollama":
        raise ConfigError(
            f"ollama_params do not go with {model.provider}: give temperature, top_p, ... in config"
        )
    limits = Limits(
        parallel=config.parallel,
        max_cost_usd=config.max_cost_usd,
        max_total_tokens=config.max_total_tokens,
        timeout_s=parse_duration(config.timeout) if config.timeout else settings.job_timeout_s,
    )
    if config.wait_for_server:
        limits = replace(limits, wait_for_server_s=parse_duration(config.wait_for_server))
    return Plan((Cell(model, source, _sampling(config), limits, config.repeats),), name=source.name)


def _suite(request: RunRequest) -> ExamRef:
    suite, config = suite_named(request.suite).key, request.config
    sized = config.preset or config.limit
    source = ExamRef(
        "suite",
        suite,
        tasks=tuple(config.tasks or ()),
        preset=config.preset or (None if sized else "quick"),
        limit=config.limit,
        rows=config.data,
        wording=config.wording,
    )
    task_keys(source)  # an unknown task is named here, not when the job begins, which may be at night
    return source


def _dataset(uploaded: ExamRef, config: RunConfig) -> ExamRef:
    """Without a size all of it."""
    if config.data is not None:
        raise ConfigError(
            f"data {config.data!r} is for suites, and {uploaded.name!r} is a data set of your own"
        )
    return replace(
        uploaded,
        tasks=tuple(config.tasks or ()),
        preset=config.preset,
        limit=config.limit,
        wording=config.wording,
    )


_DRAWN = {"temperature", "top_p", "max_tokens", "seed", "think"}
_FREE = {"max_tokens", "seed"}  # -1 leaves them open
_OLLAMA = {"num_predict": "max_tokens", "num_ctx": "context_tokens"}


def _sampling(config: RunConfig) -> Sampling:
    """What was given, by our names; the rest is left to types.Sampling."""
    given = config.model_dump(include=_DRAWN, exclude_none=True)
    if config.ollama_params is not None:
        told = config.ollama_params.model_dump(exclude_none=True)
        given |= {_OLLAMA.get(name, name): tuple(v) if name == "stop" else v for name, v in told.items()}
    if given.get("think"):
        given.setdefault("max_tokens", 8192)  # room to think, as on the command line
    for name in _FREE & given.keys():
        given[name] = unless_free(given[name])
    return Sampling(**given)
