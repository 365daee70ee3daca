"""/api/v1/datasets: one's own questions, uploaded, looked at, renamed, deleted; a run names one as its `suite`."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Path, Query, UploadFile
from pydantic import Json

from proctor.api.dependencies import OpenContext, Reader, Runner
from proctor.api.errors import TOO_LARGE
from proctor.api.schemas import JOB_ID, DatasetChange, LayoutRequest
from proctor.service.admin import access
from proctor.service.admin.access import User
from proctor.service.datasets import kept
from proctor.service.datasets.documents import document, line_document
from proctor.service.datasets.kept import Dataset, Uploaded, Wish
from proctor.service.datasets.layout import Layout

ROUTER = APIRouter(prefix="/datasets", tags=["datasets"])
Ident = Annotated[str, Path(max_length=100, examples=[JOB_ID])]


@ROUTER.post(
    "",
    summary="Upload a file of questions, or a suite with its files",
    status_code=201,
    responses=TOO_LARGE,
)
def upload(
    context: OpenContext,
    user: Runner,
    file: Annotated[
        list[UploadFile], File(description="One file; or a suite's TOML and the files it names.")
    ],
    project_id: Annotated[int, Form(ge=1, le=2**31 - 1)] = 1,
    name: Annotated[str | None, Form(max_length=200)] = None,
    layout: Annotated[Json[LayoutRequest] | None, Form(description="How it is read, as JSON.")] = None,
) -> dict[str, Any]:
    """CSV, TSV, JSON lines, JSON, Parquet or XLSX. `found.error` says why its rows cannot be asked yet.

    The same content again, without another name, is the data set that is there already: `made` is false.
    """
    files = [Uploaded(each.filename or "", each.file) for each in file]
    wish = Wish(name, layout.meant() if layout else Layout(), project_id, user.name)
    made = kept.upload(context, files, wish)
    if made.made:
        _note(context, user, "upload-dataset", made, f"{made.name}: {made.bytes:,} bytes")
    return document(made)


@ROUTER.get("", summary="List data sets")
def listed(
    context: OpenContext,
    user: Reader,
    project_id: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
) -> dict[str, Any]:
    return {"datasets": [line_document(each) for each in kept.listed(context, project_id)]}


@ROUTER.get("/{dataset_id}", summary="One data set")
def one(dataset_id: Ident, context: OpenContext, user: Reader) -> dict[str, Any]:
    """Its first rows, which column is what, how its rows were understood, and what so many of them can show."""
    return document(kept.one(context, dataset_id))


@ROUTER.get("/{dataset_id}/rows", summary="The rows of a data set")
def rows(
    dataset_id: Ident,
    context: OpenContext,
    user: Reader,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, Any]:
    """As they stand in the file, each with its place there."""
    of = kept.one(context, dataset_id)
    found = kept.rows(context, of, offset=offset, limit=limit)
    listed = [{"where": each.where, "cells": each.cells} for each in found]
    return {"total": of.found.rows, "offset": offset, "columns": of.found.columns, "rows": listed}


@ROUTER.patch("/{dataset_id}", summary="Rename a data set, or read it otherwise")
def change(dataset_id: Ident, request: DatasetChange, context: OpenContext, user: Runner) -> dict[str, Any]:
    """A new layout is for runs from now on; what was submitted goes on as it is. A new name is its runs' too."""
    layout = request.layout.meant() if request.layout else None
    made = kept.change(context, dataset_id, name=request.name, layout=layout)
    _note(context, user, "change-dataset", made, made.name)
    return document(made)


@ROUTER.delete("/{dataset_id}", summary="Delete a data set")
def remove(dataset_id: Ident, context: OpenContext, user: Runner) -> dict[str, Any]:
    """Not while runs wait for it or ask it, or a schedule does. Runs that have ended keep what they asked."""
    gone = kept.remove(context, dataset_id)
    _note(context, user, "delete-dataset", gone, gone.name)
    return {"message": f"Data set {gone.name} deleted"}


def _note(context: OpenContext, user: User, action: str, of: Dataset, about: str) -> None:
    access.note(context, user.name, action, of.id, about, project_id=of.project_id)
