"""/v1/files: OpenAI's API of files, for those of batches: uploaded, listed, read, deleted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import FileResponse, Response, StreamingResponse
from starlette.concurrency import run_in_threadpool

from proctor.api.openai_callers import Reading, Running
from proctor.api.openai_errors import RESPONSES
from proctor.service.batches.openai import files as openai_files
from proctor.service.batches.openai.files import FileFilter
from proctor.service.datasets.arriving import received

ROUTER = APIRouter(prefix="/v1/files", tags=["openai"], responses=RESPONSES)
FileId = Annotated[str, Path(max_length=100, examples=["file-5f0c3a9e1b2d4c685f0c3a9e"])]
CHUNK_BYTES = 2**16
# Its packing by whoever stands between would cost more than sending it does.
AS_IT_IS = {"Content-Encoding": "identity"}
KIND = "application/octet-stream"
FORM = {
    "type": "object",
    "required": ["file", "purpose"],
    "properties": {
        "file": {"type": "string", "format": "binary", "description": "JSON lines, named *.jsonl."},
        "purpose": {"type": "string", "enum": ["batch"]},
        "expires_after[anchor]": {"type": "string", "enum": ["created_at"]},
        "expires_after[seconds]": {"type": "integer", "minimum": 3600, "maximum": 2592000},
    },
}


@ROUTER.post(
    "",
    summary="Upload a file of requests",
    openapi_extra={"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": FORM}}}},
)
async def upload(request: Request, caller: Running) -> dict[str, Any]:
    """It goes to the disk as it comes, and is kept by its content."""
    kind = request.headers.get("content-type", "")
    settings = caller.context.settings
    async with received(request.stream(), kind, settings) as came:
        return await run_in_threadpool(_kept, caller, came)


def _kept(caller: Running, came: Any) -> dict[str, Any]:
    new = openai_files.new_file(came.fields)
    arrived = openai_files.only_file(came.files)
    row = openai_files.keep(caller.context, caller.project_id, arrived, new, user=caller.user.name)
    caller.note("upload-file", row.id, f"{row.filename}: {row.bytes:,} bytes")
    return openai_files.document(row)


@ROUTER.get("", summary="List files")
def listed(
    caller: Reading,
    purpose: Annotated[str | None, Query(max_length=100)] = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 10_000,
    order: Literal["asc", "desc"] = "desc",
    after: Annotated[str | None, Query(max_length=100)] = None,
) -> dict[str, Any]:
    wanted = FileFilter(purpose, after, limit, newest_first=order == "desc")
    rows, more = openai_files.listed(caller.context, wanted)
    return list_document([openai_files.document(row) for row in rows], more)


def list_document(data: list[dict[str, Any]], more: bool) -> dict[str, Any]:
    """A page of a list, as OpenAI's API has it."""
    first, last = (data[0]["id"], data[-1]["id"]) if data else (None, None)
    return {"object": "list", "data": data, "first_id": first, "last_id": last, "has_more": more}


@ROUTER.get("/{file_id}", summary="One file")
def one(file_id: FileId, caller: Reading) -> dict[str, Any]:
    return openai_files.document(openai_files.one(caller.context, file_id))


@ROUTER.delete("/{file_id}", summary="Delete a file")
def remove(file_id: FileId, caller: Running) -> dict[str, Any]:
    """Not while a batch reads it that has not ended."""
    gone = openai_files.remove(caller.context, file_id)
    caller.note("delete-file", gone.id, gone.filename)
    return {"id": gone.id, "object": "file", "deleted": True}


@ROUTER.get(
    "/{file_id}/content",
    summary="What is in a file",
    response_class=Response,
    responses={200: {"content": {KIND: {"schema": {"type": "string", "format": "binary"}}}}},
)
def content(file_id: FileId, caller: Reading) -> Response:
    """What was uploaded, byte for byte; or the lines of a batch's output or errors, written as they are read."""
    row = openai_files.one(caller.context, file_id)
    path = openai_files.path_of(caller.context, row)
    if path is not None:
        return FileResponse(path, media_type=KIND, headers=AS_IT_IS)
    return StreamingResponse(
        _chunks(openai_files.written(caller.context, row)), media_type=KIND, headers=AS_IT_IS
    )


def _chunks(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Many lines at a time: each piece changes threads on its way."""
    held = bytearray()
    for line in lines:
        held += line
        if len(held) >= CHUNK_BYTES:
            yield bytes(held)
            held.clear()
    if held:
        yield bytes(held)
