"""The API's words for what it takes; those of a run are in service/runs/requests.py."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from proctor.references import Numbers
from proctor.service.context import Context
from proctor.service.datasets.layout import AnswerType, Layout
from proctor.service.datasets.reading import Reading
from proctor.service.runs.requests import Body, RunRequest
from proctor.service.watch.job_states import RunFilter, source_named
from proctor.types import Status

JOB_ID = "a967f363-ee96-4bac-9f52-4d169bbc4851"


OF_KEPT = "Another grader whose grades are kept (`proctor grade`) in place of the first one's."
KeptGraderName = Annotated[str | None, Query(max_length=500, description=OF_KEPT)]


class CompareRequest(Body):
    """Models by name, or runs by id; a model stands for the mean of its complete runs that fit the others."""

    model_config = ConfigDict(
        extra="forbid",
        protected_namespaces=(),
        json_schema_extra={
            "examples": [
                {
                    "model_ids": ["gpt-4", "claude-3", "gemini-pro"],
                    "benchmark_suite": "glue",
                    "metrics": ["accuracy", "f1"],
                }
            ]
        },
    )

    model_ids: list[str] = Field(min_length=2, max_length=20)
    benchmark_suite: str | None = Field(None, max_length=300)
    metrics: list[str] = Field(["score"], min_length=1, max_length=10)
    margin: float | None = Field(
        None,
        ge=0,
        description="Scores this close, in the metric's units, are practically equal; none is 1 % of its range.",
    )
    items: int = Field(10, ge=0, le=1000)
    grader: str | None = Field(None, max_length=500, description=OF_KEPT)
    only: bool = Field(
        False,
        description="These models were chosen before anything was seen: no others count in the verdict.",
    )


class ListQuery(BaseModel):
    """Which runs a list is of; what is left out is any."""

    model_config = ConfigDict(protected_namespaces=())

    model_name: str | None = Field(None, max_length=300)
    suite: str | None = Field(None, max_length=300)
    status: Literal["pending", "running", "completed", "failed", "cancelled"] | None = None
    project_id: int | None = Field(None, ge=1, le=2**31 - 1)
    limit: int = Field(20, ge=1, le=1000)

    def wanted(self, context: Context, *, since: float | None = None) -> RunFilter:
        """Raises ConfigError for a suite that is none."""
        status = Status(self.status) if self.status else None
        source = source_named(context, self.suite)
        return RunFilter(self.model_name, source, status, self.project_id, since)


class HistoryQuery(ListQuery):
    days: int = Field(30, ge=1, le=3650)
    limit: int = Field(100, ge=1, le=1000)


class LayoutRequest(Body):
    """How a data set is read; what is left out is seen in its rows."""

    columns: list[Annotated[str, Field(max_length=300)]] = Field(
        [],
        max_length=50,
        description="Which column is what, as PART=COLUMN; parts: question, answer, choices (repeatable), id, cluster.",
        examples=[["question=Frage", "answer=Antwort"]],
    )
    sheet: str | None = Field(None, max_length=100)
    answer_type: AnswerType | None = None
    numbers: Numbers | None = None
    lenient: bool = False
    grader: str | None = Field(
        None, max_length=500, description="How answers in free text are graded.", examples=["contains"]
    )

    def meant(self) -> Layout:
        """Raises ConfigError."""
        return Layout(**self.model_dump() | {"columns": tuple(self.columns)}).checked()


class DatasetChange(Body):
    name: str | None = Field(None, min_length=1, max_length=200, examples=["Support questions"])
    layout: LayoutRequest | None = None


class ReadingRequest(Body):
    """How a file of requests is read."""

    lenient: bool = Field(False, description="Leave out lines that cannot be sent.")
    endpoint: str | None = Field(None, max_length=200, examples=["/v1/chat/completions"])
    columns: list[Annotated[str, Field(max_length=300)]] = Field(
        [], max_length=50, description="Which column is what.", examples=[["custom_id=ID"]]
    )
    template: str | None = Field(None, max_length=100_000, examples=["Translate into French: {text}"])
    system: str | None = Field(None, max_length=100_000)
    fields: list[Annotated[str, Field(max_length=100_000)]] = Field(
        [], max_length=50, description="Fields of bodies that have none.", examples=[["max_tokens=200"]]
    )
    gold: str | None = Field(None, max_length=300, description="The field that holds the right answer.")
    grader: str | None = Field(None, max_length=500)
    candidate: str | None = Field(None, max_length=500, examples=["$.metadata.name"])

    def meant(self) -> Reading:
        """Raises ConfigError."""
        listed = {name: tuple(getattr(self, name)) for name in ("columns", "fields")}
        return Reading(**self.model_dump() | listed).checked()


class RequestsChange(Body):
    name: str | None = Field(None, min_length=1, max_length=200, examples=["candidates of May"])
    reading: ReadingRequest | None = None


class ModelRequest(Body):
    model_id: str = Field(min_length=3, max_length=300, examples=["simulator/sim"])
    name: str | None = Field(None, min_length=1, max_length=200, examples=["OLMo 2 7B"])
    parameters: str | None = Field(None, max_length=50, examples=["7.3B"])
    size_bytes: float | None = Field(None, ge=0, le=1e15)
    memory_bytes: float | None = Field(None, ge=0, le=1e15, description="What serving it takes.")
    context_tokens: int | None = Field(None, ge=1, le=2**31 - 1)
    quantization: str | None = Field(None, max_length=50, examples=["Q4_K_M"])
    note: str | None = Field(None, max_length=2000)


class ProjectRequest(Body):
    name: str = Field(min_length=1, max_length=100, examples=["Nightly"])


class KeyRequest(Body):
    user: str = Field(min_length=1, max_length=100, examples=["ann"])
    name: str = Field("", max_length=100, examples=["laptop"])
    scopes: list[Literal["read", "label", "run", "admin"]] = Field(
        ["read", "run"], min_length=1, max_length=4
    )
    project_ids: list[Annotated[int, Field(ge=1, le=2**31 - 1)]] | None = Field(
        None, max_length=1000, examples=[[1]]
    )


class KeyChange(Body):
    project_ids: list[Annotated[int, Field(ge=1, le=2**31 - 1)]] = Field(
        min_length=1, max_length=1000, examples=[[1, 2]]
    )


class ScheduleRequest(Body):
    """A job that is submitted again and again, at low priority. `cron` is read in UTC."""

    name: str = Field(min_length=1, max_length=100, examples=["nightly GLUE"])
    cron: str = Field(max_length=100, examples=["0 2 * * *"])
    job: RunRequest


class ScheduleChange(Body):
    enabled: bool
