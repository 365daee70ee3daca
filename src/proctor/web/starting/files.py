"""The dashboard: files of one's own on the form itself. Dropped, kept as data sets, and shown before they are asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from proctor.errors import BadLines, NotFound, ProctorError
from proctor.service.context import Context
from proctor.service.datasets import kept, requests
from proctor.service.datasets.arriving import check_room, received
from proctor.service.datasets.kept import Dataset
from proctor.service.datasets.layout import PARTS
from proctor.service.datasets.requests import Requests
from proctor.web.addresses import query
from proctor.web.catalogue.datasets import keep_upload, layout_of
from proctor.web.dependencies import Filling, OpenContext, Reader, Runner, go, is_fragment
from proctor.web.render import problem_facts, show

ROUTER = APIRouter()
ROWS = 4


def held(context: Context, ident: str) -> str:
    """What a data set holds, questions or requests, by its id; "" where there is none."""
    try:
        return requests.holds(context, ident)
    except NotFound:
        return ""


@ROUTER.post("/runs/new/file")
async def upload(request: Request, context: OpenContext, user: Runner) -> Response:
    """Keep what was dropped as a data set, and go on with the form that has it chosen."""
    try:
        await run_in_threadpool(check_room, context.settings, request.headers.get("content-length"))
        kind = request.headers.get("content-type", "")
        async with received(request.stream(), kind, context.settings, most_files=kept.MOST_FILES) as came:
            made = await run_in_threadpool(keep_upload, context, user, came)
    except ClientDisconnect:
        return Response("The upload broke off", 400)
    except ProctorError as problem:
        return await run_in_threadpool(_refused, request, problem)
    return go(request, _form_with(made))


def _form_with(made: Dataset | Requests) -> str:
    """The form for what came: requests are a batch, whatever was chosen before."""
    if isinstance(made, Requests):
        return "/runs/new" + query({"what": "batch", "dataset": made.id, "came": "batch"})
    return "/runs/new" + query(
        {"what": "questions", "suite": made.name, "project": made.project_id, "came": "questions"}
    )


def _refused(request: Request, problem: ProctorError) -> Response:
    faults = problem.faults if isinstance(problem, BadLines) else ()
    facts = {"problem": problem_facts(problem), "faults": faults}
    if is_fragment(request):
        return show(request, "_upload_problem.html", **facts)
    return show(request, "refused_file.html", problem.http_status, here="new", **facts)


@ROUTER.get("/runs/new/file/{dataset_id}")
def one(request: Request, dataset_id: str, context: OpenContext, user: Reader) -> Response:
    """A data set's first rows, which column is what, and what is wrong with it."""
    return show(request, "_file.html", file=file_facts(_one(context, dataset_id)))


@ROUTER.post("/runs/new/file/{dataset_id}")
def read_otherwise(
    request: Request, dataset_id: str, context: OpenContext, user: Runner, form: Filling
) -> Response:
    """Say which column is what, or leave bad rows out, in place."""
    of = kept.one(context, dataset_id)
    said = layout_of(form).columns if form.getlist("column") else of.layout.columns
    layout = replace(of.layout, columns=said, lenient=form.get("lenient") == "on")
    problem = None
    try:
        of = kept.change(context, dataset_id, layout=layout)
    except ProctorError as error:
        problem = error
    facts = file_facts(of, problem)
    if not is_fragment(request):
        return go(request, _form_with(of))
    return show(request, "_file.html", file=facts)


def _one(context: Context, dataset_id: str) -> Dataset | Requests:
    if requests.holds(context, dataset_id) == "requests":
        return requests.one(context, dataset_id)
    return kept.one(context, dataset_id)


def file_facts(of: Dataset | Requests, problem: ProctorError | None = None) -> dict[str, Any]:
    """What the preview shows."""
    if isinstance(of, Requests):
        return {"holds": "requests", "it": of, "found": of.found, "first": of.found.first[:ROWS]}
    # What cannot be asked has no parts yet; what was said of its columns so far stays chosen.
    said = [words.partition("=") for words in of.layout.columns]
    told = {name: part for part, _, name in said if name}
    parts = {name: part for part in PARTS for name in of.found.parts.get(part, ())}
    return {
        "holds": "questions",
        "it": of,
        "found": of.found,
        "first": of.found.first[:ROWS],
        "parts": PARTS,
        "part_of": parts or told,
        "error": str(problem) if problem else of.found.error,
    }
