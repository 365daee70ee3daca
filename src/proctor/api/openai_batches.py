"""/v1/batches: OpenAI's Batch API on every model; the work is a job of the queue, as any other."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from proctor.api.openai_callers import Reading, Running
from proctor.api.openai_errors import RESPONSES
from proctor.api.openai_files import list_document
from proctor.service.batches.openai import batches as openai_batches
from proctor.service.batches.openai.batches import ENDPOINTS, NewBatch

ROUTER = APIRouter(prefix="/v1/batches", tags=["openai"], responses=RESPONSES)
BatchId = Annotated[str, Path(max_length=100, examples=["batch_5f0c3a9e1b2d4c685f0c3a9e1b2d4c68"])]


class OutputExpiry(BaseModel):
    """When the output and error files are deleted, after they were made."""

    model_config = ConfigDict(extra="forbid")

    anchor: Literal["created_at"]
    seconds: Annotated[int, Field(ge=3600, le=2_592_000)]


class BatchRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    input_file_id: Annotated[str, Field(max_length=100)]
    endpoint: Annotated[str, Field(max_length=100, examples=[ENDPOINTS[0]])]
    completion_window: Annotated[str, Field(max_length=20, examples=["24h"])]
    metadata: dict[str, str] | None = None
    output_expires_after: OutputExpiry | None = None


@ROUTER.post("", summary="Start a batch")
def create(request: BatchRequest, caller: Running) -> dict[str, Any]:
    """It is `validating` until its file is checked: `failed` then lists what is wrong by line."""
    kept = request.output_expires_after
    new = NewBatch(
        request.input_file_id,
        request.endpoint,
        request.completion_window,
        request.metadata,
        kept.seconds if kept else None,
    )
    made = openai_batches.create(caller.context, caller.project_id, new, user=caller.user.name)
    caller.note("create-batch", made.row.id, f"{new.endpoint}, {new.input_file_id}")
    caller.keeper.wake()
    return openai_batches.document(made)


@ROUTER.get("", summary="List batches")
def listed(
    caller: Reading,
    after: Annotated[str | None, Query(max_length=100)] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> dict[str, Any]:
    found, more = openai_batches.listed(caller.context, after=after, limit=limit)
    return list_document([openai_batches.document(each) for each in found], more)


@ROUTER.get("/{batch_id}", summary="One batch")
def one(batch_id: BatchId, caller: Reading) -> dict[str, Any]:
    found = openai_batches.one(caller.context, batch_id)
    if not found.row.ended:
        caller.keeper.wake()
    return openai_batches.document(found)


@ROUTER.post("/{batch_id}/cancel", summary="Cancel a batch")
def cancel(batch_id: BatchId, caller: Running) -> dict[str, Any]:
    """It is `cancelling` until its requests under way have ended; what was answered by then is in its output file."""
    found = openai_batches.cancel(caller.context, batch_id)
    caller.note("cancel-batch", found.row.id, found.row.endpoint)
    caller.keeper.wake()
    return openai_batches.document(found)
