"""/admin/datasets: files of requests, uploaded, looked at, downloaded, deleted, as the dataset runner documents it."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response, StreamingResponse
from starlette.requests import ClientDisconnect

from proctor.api.dependencies import OpenContext, Reader, Runner
from proctor.api.errors import TOO_LARGE
from proctor.api.schemas import RequestsChange
from proctor.errors import ConfigError
from proctor.service.admin import access
from proctor.service.admin.access import User
from proctor.service.datasets import requests
from proctor.service.datasets.arriving import check_room, received
from proctor.service.datasets.documents import requests_document, requests_line
from proctor.service.datasets.reading import reading_of
from proctor.service.datasets.requests import Requests, RequestsWish

ROUTER = APIRouter(prefix="/admin/datasets", tags=["batches"])
Ident = Annotated[str, Path(max_length=100, examples=["ds_4f1c9a7be02d83a65c17e9b4"])]
MOST_PROJECT = 2**31 - 1
GONE = Response("The upload broke off", 400)
FORM = {
    "required": ["file"],
    "properties": {
        "file": {
            "type": "string",
            "format": "binary",
            "description": "Lines in OpenAI's batch format or one of its dialects; or a table: CSV, TSV, JSON, "
            "Parquet, XLSX, whose rows `columns` and `template` make requests of.",
        },
        "name": {"type": "string", "maxLength": 100, "description": "By default the file's name."},
        "project_id": {"type": "integer", "minimum": 1, "maximum": MOST_PROJECT, "default": 1},
        "lenient": {
            "type": "boolean",
            "default": False,
            "description": "Leave out lines that cannot be sent; otherwise one of them refuses the file.",
        },
        "endpoint": {
            "type": "string",
            "description": "Of lines that name none, such as /v1/chat/completions.",
        },
        "columns": {"type": "string", "description": "Which column is what, one a line: custom_id=ID"},
        "template": {"type": "string", "description": "How a row becomes a prompt: Translate {text}"},
        "system": {"type": "string", "description": "The same for the system message."},
        "fields": {
            "type": "string",
            "description": "Fields of bodies that have none, one a line: max_tokens=200",
        },
        "gold": {"type": "string", "description": "The field that holds the right answer."},
        "grader": {
            "type": "string",
            "description": "What grades replies by it; without: chosen by the answers.",
        },
        "candidate": {
            "type": "string",
            "description": "What a request is about: an expression with one group "
            "over the custom_id, or a path into the body: $.metadata.name",
        },
    },
    "type": "object",
}


@ROUTER.post(
    "/upload",
    summary="Upload a file of requests",
    responses=TOO_LARGE,
    openapi_extra={"requestBody": {"content": {"multipart/form-data": {"schema": FORM}}, "required": True}},
)
async def upload(request: Request, context: OpenContext, user: Runner) -> Any:
    """Streamed to the disk and checked line by line; every line that cannot be sent is named, and nothing is kept then.

    The same content again, without another name, is the data set that is there already: `made` is false.
    """
    await run_in_threadpool(check_room, context.settings, request.headers.get("content-length"))
    kind = request.headers.get("content-type", "")
    try:
        async with received(request.stream(), kind, context.settings) as came:
            if not came.files:
                raise ConfigError("The form has no file: send it in the field `file`")
            wish = _wish(came.fields, user)
            made = await run_in_threadpool(requests.keep, context, came.files[0], wish)
    except ClientDisconnect:
        return GONE
    if made.made:
        await run_in_threadpool(_note, context, user, "upload-dataset", made, f"{made.bytes:,} bytes")
    told = requests_document(made)
    return {"dataset_id": told.pop("id"), **told, "made": made.made}


def _wish(fields: dict[str, str], user: User) -> RequestsWish:
    """Raises: ConfigError."""
    words = dict(fields)
    name, project = words.pop("name", None), words.pop("project_id", "1")
    if not (project.isascii() and project.isdecimal() and 1 <= int(project) <= MOST_PROJECT):
        raise ConfigError(f"project_id={project[:20]!r}: give the number of a project")
    return RequestsWish(name or None, reading_of(words), int(project), user.name)


@ROUTER.get("", summary="List files of requests")
def listed(
    context: OpenContext,
    user: Reader,
    project_id: Annotated[int | None, Query(ge=1, le=MOST_PROJECT)] = None,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
) -> dict[str, Any]:
    """The newest first. `total` is how many there are beside this page."""
    found, total = requests.listed(context, project_id, offset=offset, limit=limit)
    return {"datasets": [requests_line(each) for each in found], "total": total, "offset": offset}


@ROUTER.get("/{dataset_id}", summary="One file of requests")
def one(dataset_id: Ident, context: OpenContext, user: Reader) -> dict[str, Any]:
    """Its hash, its first requests, which fields their bodies have, and what was noted of its lines."""
    return requests_document(requests.one(context, dataset_id))


@ROUTER.get("/{dataset_id}/rows", summary="The requests of a file")
def rows(
    dataset_id: Ident,
    context: OpenContext,
    user: Reader,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, Any]:
    """As they stand in the file, each with its line; a prompt is cut to a few hundred characters."""
    of = requests.one(context, dataset_id)
    found = requests.rows_of(context, of, offset=offset, limit=limit)
    return {"total": of.count, "offset": offset, "rows": found}


@ROUTER.get("/{dataset_id}/content", summary="The file as it came", response_class=StreamingResponse)
def content(dataset_id: Ident, context: OpenContext, user: Reader) -> StreamingResponse:
    """Byte for byte."""
    of = requests.one(context, dataset_id)
    pieces = requests.content_of(context, of)
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(of.name, safe='')}",
        "Content-Length": str(of.bytes),
    }
    return StreamingResponse(pieces(), media_type="application/octet-stream", headers=headers)


@ROUTER.patch("/{dataset_id}", summary="Rename a file of requests, or read it otherwise")
def change(dataset_id: Ident, request: RequestsChange, context: OpenContext, user: Runner) -> dict[str, Any]:
    """A new reading is for runs from now on; what was submitted goes on as it is. A new name is its runs' too."""
    reading = request.reading.meant() if request.reading else None
    made = requests.change(context, dataset_id, name=request.name, reading=reading)
    _note(context, user, "change-dataset", made, made.name)
    return requests_document(made)


@ROUTER.delete("/{dataset_id}", summary="Delete a file of requests")
def remove(dataset_id: Ident, context: OpenContext, user: Runner) -> dict[str, Any]:
    """Not while runs wait for it or ask it, or a schedule does. Runs that have ended keep what was said."""
    gone = requests.remove(context, dataset_id)
    _note(context, user, "delete-dataset", gone, gone.name)
    return {"message": f"Data set {gone.name} deleted"}


def _note(context: OpenContext, user: User, action: str, of: Requests, about: str) -> None:
    access.note(context, user.name, action, of.id, about, project_id=of.project_id)
