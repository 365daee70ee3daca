"""/admin/benchmarks: batches started, followed, read row by row and exported, as the dataset runner documents it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Path, Query
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from proctor.api.dependencies import Labeller, OpenContext, Reader, Runner
from proctor.service.admin import access
from proctor.service.batches import benchmarks, documents, labels, results
from proctor.service.batches.benchmarks import BenchmarkFilter, BenchmarkRequest
from proctor.service.batches.exports import files as exporting
from proctor.service.batches.exports.rows import ExportWish, Form, Which
from proctor.service.batches.labels import LabelMark, Verdict
from proctor.service.batches.results import RowFilter
from proctor.service.runs.requests import Body
from proctor.types import Run

ROUTER = APIRouter(prefix="/admin/benchmarks", tags=["batches"])
EXAMPLE = "bm_5b1f5f4e-7f0c-4a58-9a0e-3c1d2b4a6978"
Ident = Annotated[str, Path(max_length=100, examples=[EXAMPLE])]
CustomId = Annotated[str, Path(max_length=2_000)]
MOST_PROJECT = 2**31 - 1
TYPES = {
    "jsonl": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}
FILE: dict[int | str, dict[str, Any]] = {
    200: {"content": {kind: {"schema": {"type": "string", "format": "binary"}} for kind in TYPES.values()}}
}


class BenchmarksQuery(BaseModel):
    """Which benchmarks."""

    model_config = ConfigDict(extra="forbid")

    status: Literal["pending", "running", "completed", "failed", "cancelled"] | None = None
    project_id: int | None = Field(None, ge=1, le=MOST_PROJECT)
    dataset_id: str | None = Field(None, max_length=200)
    model_id: str | None = Field(None, max_length=300)
    after: str | None = Field(None, max_length=100, description="The id of the last one of the page before.")
    limit: int = Field(50, ge=1, le=benchmarks.MOST)

    def wanted(self) -> BenchmarkFilter:
        status = benchmarks.status_named(self.status)
        return BenchmarkFilter(status, self.project_id, self.dataset_id, self.model_id, self.after)


class RowsQuery(BaseModel):
    """Which rows, and in which order."""

    model_config = ConfigDict(extra="forbid")

    text: str | None = Field(None, max_length=2_000, description="Words in the request or the reply.")
    custom_id: str | None = Field(None, max_length=2_000, description="A part of it.")
    prefix: str | None = Field(None, max_length=2_000, description="How the custom_id begins.")
    status: str | None = Field(
        None,
        max_length=50,
        description="answered, failed, none, 4xx, 429, an outcome such as truncated, or an error such as "
        "rate-limited.",
    )
    finish: str | None = Field(None, max_length=50, description="How replies end: stop, length, refused.")
    candidate: str | None = Field(None, max_length=2_000, description="What requests are about.")
    candidate_by: str | None = Field(
        None,
        max_length=2_000,
        description="How that is told: an expression with a group over the custom_id, or $.path into the body. "
        "Default: as the run was told.",
    )
    label: Literal["good", "bad", "best", "edited", "any", "none"] | None = None
    tag: str | None = Field(None, max_length=50)
    input_tokens_min: float | None = None
    input_tokens_max: float | None = None
    output_tokens_min: float | None = None
    output_tokens_max: float | None = None
    latency_min: float | None = Field(None, description="Seconds.")
    latency_max: float | None = Field(None, description="Seconds.")
    order: Literal["place", "latency", "input_tokens", "output_tokens"] = "place"
    descending: bool = False

    def wanted(self) -> RowFilter:
        names = RowsQuery.model_fields
        return RowFilter.of({name: getattr(self, name) for name in names})


class PageQuery(RowsQuery):
    """A page of them."""

    after: str | None = Field(None, max_length=100, description="Where the page before ended: its `after`.")
    at: int | None = Field(None, ge=0, le=10**9, description="Begin with this row, from 0.")
    limit: int = Field(100, ge=1, le=1000)


class ExportQuery(RowsQuery):
    """What is written of them."""

    format: Form = "sft"
    rows: Which | None = Field(None, description="all, failures, or golden: labelled good, best or edited.")
    also: list[str] = Field([], max_length=8, description="Further benchmarks, by their ids.")
    drop_reasoning: bool = False
    dedupe: bool = Field(False, description="One example a prompt.")
    hold_out: float = Field(0, ge=0, lt=1, description="Share of the prompts that is held out.")
    part: Literal["train", "hold-out"] = "train"
    manifest: bool = Field(False, description="Tell what the export is made of, instead of the export.")

    def wish(self) -> ExportWish:
        return ExportWish(
            self.format,
            self.wanted(),
            self.rows,
            drop_reasoning=self.drop_reasoning,
            dedupe=self.dedupe,
            hold_out=self.hold_out,
        ).checked()


class LabelRequest(Body):
    """What somebody says of a reply. One that says nothing takes back what was said."""

    verdict: Verdict | None = None
    text: str | None = Field(
        None, max_length=labels.LONGEST_TEXT, description="The reply as it should be (edited)."
    )
    note: str | None = Field(None, max_length=labels.LONGEST_NOTE)
    tags: list[str] = Field([], max_length=labels.MOST_TAGS)


class BestRequest(Body):
    """The benchmarks whose replies were compared."""

    among: list[str] = Field(min_length=1, max_length=8)


@ROUTER.post("/run", summary="Run a benchmark")
def run(request: BenchmarkRequest, context: OpenContext, user: Runner) -> dict[str, Any]:
    """Into the queue; it is `pending` until a slot is free, and goes on whoever looks."""
    made = benchmarks.start(context, request, user.name)
    about = f"{made.cell.model} on {made.cell.source.name}"
    access.note(context, user.name, "submit", made.id, about)
    return documents.started_document(made)


@ROUTER.get("", summary="List benchmarks")
def listed(asked: Annotated[BenchmarksQuery, Query()], context: OpenContext, user: Reader) -> dict[str, Any]:
    """The newest first. `throughput` is output tokens a second, `eta_seconds` null while it is not known."""
    return documents.list_document(benchmarks.listed(context, asked.wanted(), limit=asked.limit))


@ROUTER.get("/{benchmark_id}", summary="One benchmark")
def one(benchmark_id: Ident, context: OpenContext, user: Reader) -> dict[str, Any]:
    """How it stands, and how its replies are labelled."""
    found = benchmarks.one(context, benchmark_id)
    told = documents.benchmark_document(found)
    return {**told, "labels": documents.counts_document(labels.counts(context, found.run.id))}


@ROUTER.get("/{benchmark_id}/results", summary="Results of a benchmark", response_model=None)
def page(
    benchmark_id: Ident, asked: Annotated[PageQuery, Query()], context: OpenContext, user: Reader
) -> Response:
    """A page of lines; `after` begins the next one. `searched_to` is said where a search goes on from there."""
    found = benchmarks.one(context, benchmark_id)
    rows = results.page(context, found.run, asked.wanted(), after=asked.after, at=asked.at, limit=asked.limit)
    return _json(documents.results_document(found, rows))


@ROUTER.get(
    "/{benchmark_id}/results/{custom_id:path}", summary="One request of a benchmark", response_model=None
)
def item(benchmark_id: Ident, custom_id: CustomId, context: OpenContext, user: Reader) -> Response:
    """What was sent, what came back in every try, its times, and what people say of it."""
    run = benchmarks.run_of(context, benchmark_id)
    return _json(documents.item_document(results.one(context, run, custom_id)))


@ROUTER.get(
    "/{benchmark_id}/results.jsonl",
    summary="Results as JSON lines",
    response_class=StreamingResponse,
    responses=FILE,
)
def as_jsonl(
    benchmark_id: Ident,
    asked: Annotated[RowsQuery, Query()],
    context: OpenContext,
    user: Reader,
    shape: Literal["openai", "vllm"] = "openai",
) -> StreamingResponse:
    """Lines of an output file; bodies are the server's, byte for byte."""
    run = benchmarks.run_of(context, benchmark_id)
    return _file(context, [run], ExportWish("jsonl", asked.wanted(), shape=shape))


@ROUTER.get(
    "/{benchmark_id}/results.csv", summary="Results as CSV", response_class=StreamingResponse, responses=FILE
)
def as_csv(
    benchmark_id: Ident, asked: Annotated[RowsQuery, Query()], context: OpenContext, user: Reader
) -> StreamingResponse:
    """A line a request; no cell is taken for a formula."""
    run = benchmarks.run_of(context, benchmark_id)
    return _file(context, [run], ExportWish("csv", asked.wanted()))


@ROUTER.get(
    "/{benchmark_id}/results.parquet",
    summary="Results as Parquet",
    response_class=StreamingResponse,
    responses=FILE,
)
def as_parquet(
    benchmark_id: Ident, asked: Annotated[RowsQuery, Query()], context: OpenContext, user: Reader
) -> StreamingResponse:
    """A row a request."""
    run = benchmarks.run_of(context, benchmark_id)
    return _file(context, [run], ExportWish("parquet", asked.wanted()))


@ROUTER.get(
    "/{benchmark_id}/export",
    summary="Export examples or requests",
    response_class=StreamingResponse,
    responses=FILE,
)
def export(
    benchmark_id: Ident, asked: Annotated[ExportQuery, Query()], context: OpenContext, user: Reader
) -> Response:
    """Examples to train on, of what people labelled (sft, dpo, kto), or requests to send again (batch)."""
    runs = [benchmarks.run_of(context, each) for each in dict.fromkeys([benchmark_id, *asked.also])]
    if asked.manifest:
        return _json(exporting.manifest(context, runs, asked.wish()))
    return _file(context, runs, asked.wish(), held_out=asked.part == "hold-out")


@ROUTER.post("/{benchmark_id}/cancel", summary="Cancel a benchmark")
def cancel(benchmark_id: Ident, context: OpenContext, user: Runner) -> dict[str, Any]:
    """What was answered is kept, and it can be resumed."""
    benchmarks.cancel(context, benchmark_id)
    found = benchmarks.one(context, benchmark_id)
    access.note(context, user.name, "cancel", found.run.id)
    return documents.benchmark_document(found)


@ROUTER.post("/{benchmark_id}/resume", summary="Resume a benchmark")
def resume(benchmark_id: Ident, context: OpenContext, user: Runner) -> dict[str, Any]:
    """A cancelled, failed or partial one goes on with what is missing or failed."""
    found = benchmarks.resume(context, benchmark_id)
    access.note(context, user.name, "restart", found.run.id)
    return documents.benchmark_document(found)


@ROUTER.delete("/{benchmark_id}", summary="Delete a benchmark")
def delete(benchmark_id: Ident, context: OpenContext, user: Runner) -> dict[str, Any]:
    """For good, with its results and labels; one that waits or runs must be cancelled first."""
    found = benchmarks.one(context, benchmark_id)
    benchmarks.delete(context, benchmark_id)
    about = f"{found.run.cell.model} on {found.dataset_name}"
    access.note(context, user.name, "delete", found.run.id, about, project_id=found.project_id)
    return {"benchmark_id": found.id, "message": f"Benchmark {found.id} deleted"}


@ROUTER.get("/{benchmark_id}/labels", summary="How replies are labelled")
def label_list(
    benchmark_id: Ident,
    context: OpenContext,
    user: Reader,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, Any]:
    """How often each is given, and those that count, in the order of the file."""
    run = benchmarks.run_of(context, benchmark_id)
    listed_ = labels.standing(context, run.id)
    return {
        **documents.counts_document(labels.counts(context, run.id)),
        "total": len(listed_),
        "labels": [documents.label_document(each) for each in listed_[offset : offset + limit]],
    }


@ROUTER.get("/{benchmark_id}/labels/{custom_id:path}", summary="What was said of a reply")
def label_history(
    benchmark_id: Ident, custom_id: CustomId, context: OpenContext, user: Reader
) -> dict[str, Any]:
    """All that was ever said of it, the newest first; that counts."""
    run = benchmarks.run_of(context, benchmark_id)
    said = labels.of_row(context, run.id, custom_id)
    return {"custom_id": custom_id, "labels": [documents.label_document(each) for each in said]}


@ROUTER.put("/{benchmark_id}/labels/{custom_id:path}", summary="Label a reply")
def label(
    benchmark_id: Ident, custom_id: CustomId, request: LabelRequest, context: OpenContext, user: Labeller
) -> dict[str, Any]:
    """good, bad, best, or edited with the reply as it should be; a note and tags. What was said before is kept."""
    run = benchmarks.run_of(context, benchmark_id)
    said = LabelMark(request.verdict, request.text, request.note, tuple(request.tags))
    return documents.label_document(labels.put(context, run.id, custom_id, said, user=user.name))


@ROUTER.post("/{benchmark_id}/best/{custom_id:path}", summary="Say whose reply is the best")
def best(
    benchmark_id: Ident, custom_id: CustomId, request: BestRequest, context: OpenContext, user: Labeller
) -> dict[str, Any]:
    """This benchmark's reply to a request, among several benchmarks; another that was the best no longer is."""
    chosen = benchmarks.run_of(context, benchmark_id).id
    among = [benchmarks.run_of(context, each).id for each in request.among]
    added = labels.best_of(context, [*among, chosen], custom_id, chosen, user=user.name)
    return {"labels": [documents.label_document(each) for each in added]}


def _json(document: dict[str, Any]) -> Response:
    """Bodies that servers sent stand in it as they came."""
    return Response(orjson.dumps(document), media_type="application/json")


def _file(
    context: OpenContext, runs: list[Run], wish: ExportWish, *, held_out: bool = False
) -> StreamingResponse:
    """Written as it is read, but for Parquet, which ends with what it begins with."""
    chunks: Iterator[bytes] = exporting.chunks(context, runs, wish.checked(), held_out=held_out)
    name = exporting.file_name(runs, wish, held_out=held_out)
    kind = TYPES.get(wish.form, TYPES["jsonl"])
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return StreamingResponse(chunks, media_type=kind, headers=headers)
