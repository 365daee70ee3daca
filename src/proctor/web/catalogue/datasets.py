"""The dashboard: Data sets. One's own questions and requests: uploaded, looked at, read otherwise, deleted, and run."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Query, Request
from fastapi.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse

from proctor.errors import BadLines, ConfigError, DataMissing, ProctorError, TooLarge
from proctor.service.admin import access
from proctor.service.admin.access import User
from proctor.service.datasets import kept, requests
from proctor.service.datasets.arriving import Upload, check_room, received
from proctor.service.datasets.kept import Dataset, Uploaded, Wish
from proctor.service.datasets.layout import PARTS, Layout
from proctor.service.datasets.reading import reading_of
from proctor.service.datasets.requests import Requests, RequestsWish
from proctor.service.datasets.told_apart import holds_requests
from proctor.service.watch.counts import runs_of_sources
from proctor.service.watch.models import catalogue, sorted_by
from proctor.settings import MB
from proctor.web.dependencies import Filling, OpenContext, Project, Reader, Runner, go, is_fragment
from proctor.web.render import problem_facts, show

ROUTER = APIRouter()
ANSWERS = (("choices", "one of the options"), ("labels", "one of a few names"), ("text", "free words"))
NUMBERS = (
    ("from-0", "options' places from 0"),
    ("from-1", "options' places from 1"),
    ("texts", "options' texts"),
)
UNUSED = "not used"
SHOWN = 500  # files of requests in the list
ROWS = 25
LISTED = ("columns", "fields")  # of a reading, one a line


@ROUTER.get("/datasets")
def listed(request: Request, context: OpenContext, user: Reader, project: Project = None) -> Response:
    return _list(request, context, project)


def _list(
    request: Request, context: OpenContext, project: int | None = None, problem: ProctorError | None = None
) -> Response:
    """The whole page; for the script that sends a file, what is wrong with it alone, as a piece of a page."""
    piece = problem is not None and is_fragment(request)
    of_requests, total = requests.listed(context, project, limit=SHOWN)
    datasets = kept.listed(context, project)
    return show(
        request,
        "_upload_problem.html" if piece else "datasets.html",
        200 if problem is None or piece else problem.http_status,
        here="datasets",
        datasets=datasets,
        runs=runs_of_sources(context, {each.name for each in datasets} | {each.name for each in of_requests}),
        compared=[] if piece else _lately_used(context),
        of_requests=of_requests,
        more=total - len(of_requests),
        chosen_project=project,
        names={each.id: each.name for each in access.projects(context)},
        most_bytes=context.settings.most_upload_bytes,
        most_batch_bytes=context.settings.most_batch_bytes,
        problem=problem_facts(problem),
        faults=problem.faults if isinstance(problem, BadLines) else (),
    )


def _lately_used(context: OpenContext) -> list[str]:
    """The two models that were used last: what a comparison on a data set begins with."""
    found = [each for each in catalogue(context).models if each.runs and each.provider != "baseline"]
    return [each.name for each in sorted_by("last", found)[:2]]


@ROUTER.post("/datasets")
async def upload(request: Request, context: OpenContext, user: Runner) -> Response:
    """Keep what was dropped, and go to what was found in it."""
    try:
        await run_in_threadpool(check_room, context.settings, request.headers.get("content-length"))
        kind = request.headers.get("content-type", "")
        async with received(request.stream(), kind, context.settings, most_files=kept.MOST_FILES) as came:
            made = await run_in_threadpool(keep_upload, context, user, came)
    except ClientDisconnect:
        return Response("The upload broke off", 400)
    except ProctorError as problem:
        return await run_in_threadpool(_list, request, context, None, problem)
    return go(request, f"/datasets/{made.id}", "" if made.made else f"It is here already, as {made.name}.")


def keep_upload(context: OpenContext, user: User, came: Upload) -> Dataset | Requests:
    """Raises: ProctorError."""
    fields = dict(came.fields)
    name, project = fields.pop("name", "").strip() or None, fields.pop("project", "1")
    holds = fields.pop("holds", "")
    if not came.files or not (project.isascii() and project.isdecimal() and 0 < int(project) < 2**31):
        raise ConfigError("Choose a file, and a project")
    made: Dataset | Requests
    if holds == "requests" or (holds != "questions" and holds_requests(came.files)):
        wish = RequestsWish(name, reading_of(fields), int(project), user.name)
        made = requests.keep(context, came.files[0], wish)
    else:
        made = _questions(context, came, Wish(name, Layout(), int(project), user.name))
    if made.made:
        _note(context, user, "upload-dataset", made, f"{made.name}: {made.bytes:,} bytes")
    return made


def _questions(context: OpenContext, came: Upload, wish: Wish) -> Dataset:
    """Raises: TooLarge, for questions are kept in the database; and what `kept.upload` raises."""
    most = context.settings.most_upload_bytes
    if sum(each.bytes for each in came.files) > most:
        raise TooLarge(
            f"The upload is larger than {most // MB:,} MB, which is what this server takes of questions"
        )
    with ExitStack() as opened:
        files = [Uploaded(each.filename, opened.enter_context(each.path.open("rb"))) for each in came.files]
        return kept.upload(context, files, wish)


@ROUTER.get("/datasets/{dataset_id}")
def one(
    request: Request,
    dataset_id: str,
    context: OpenContext,
    user: Reader,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> Response:
    if requests.holds(context, dataset_id) == "requests":
        return _page_of_requests(request, context, requests.one(context, dataset_id), offset=offset)
    return _page(request, context, kept.one(context, dataset_id))


def _page_of_requests(
    request: Request,
    context: OpenContext,
    of: Requests,
    *,
    offset: int = 0,
    problem: ProctorError | None = None,
) -> Response:
    away = None
    try:
        rows = requests.rows_of(context, of, offset=offset, limit=ROWS)
    except DataMissing as error:
        rows, away = of.found.first, error
    return show(
        request,
        "dataset_requests.html",
        200 if problem is None else problem.http_status,
        here="datasets",
        it=of,
        found=of.found,
        rows=rows,
        offset=offset,
        step=ROWS,
        listed=LISTED,
        project_name={each.id: each.name for each in access.projects(context)}.get(of.project_id, ""),
        problem=problem_facts(problem or away),
        faults=problem.faults if isinstance(problem, BadLines) else (),
    )


@ROUTER.get("/datasets/{dataset_id}/content")
def content(dataset_id: str, context: OpenContext, user: Reader) -> StreamingResponse:
    """A file of requests, byte for byte as it came."""
    of = requests.one(context, dataset_id)
    pieces = requests.content_of(context, of)
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(of.name, safe='')}",
        "Content-Length": str(of.bytes),
    }
    return StreamingResponse(pieces(), media_type="application/octet-stream", headers=headers)


@ROUTER.post("/datasets/{dataset_id}/reading")
def read_requests_otherwise(
    request: Request, dataset_id: str, context: OpenContext, user: Runner, form: Filling
) -> Response:
    """How lines become requests, from now on."""
    return _changed_requests(request, context, user, dataset_id, form=form)


def _changed_requests(
    request: Request,
    context: OpenContext,
    user: User,
    dataset_id: str,
    *,
    form: FormData | None = None,
    name: str | None = None,
) -> Response:
    try:
        reading = None if form is None else reading_of({key: str(said) for key, said in form.items()})
        made = requests.change(context, dataset_id, name=name, reading=reading)
    except ProctorError as problem:
        return _page_of_requests(request, context, requests.one(context, dataset_id), problem=problem)
    _note(context, user, "change-dataset", made, made.name)
    return go(request, f"/datasets/{made.id}", "Saved.")


def _page(
    request: Request, context: OpenContext, of: Dataset, problem: ProctorError | None = None
) -> Response:
    parts = of.found.parts
    return show(
        request,
        "dataset.html",
        200 if problem is None else problem.http_status,
        here="datasets",
        it=of,
        found=of.found,
        part_of={name: part for part in PARTS for name in parts.get(part, ())},
        parts=PARTS,
        unused=UNUSED,
        answers=ANSWERS,
        numbers=NUMBERS,
        project_name={each.id: each.name for each in access.projects(context)}.get(of.project_id, ""),
        problem=problem_facts(problem),
    )


@ROUTER.post("/datasets/{dataset_id}/layout")
def read_otherwise(
    request: Request, dataset_id: str, context: OpenContext, user: Runner, form: Filling
) -> Response:
    """Read its rows as the form says."""
    return _changed(request, context, user, dataset_id, layout=layout_of(form))


def layout_of(form: FormData) -> Layout:
    """Every column of the form says what it is, so that none is guessed; `guess` leaves all to their names again."""
    columns = [str(value) for value in form.getlist("column")]
    chosen = [str(value) for value in form.getlist("part")]
    words = [f"{part}={name}" for name, part in zip(columns, chosen, strict=False) if part in PARTS]
    words += [f"{part}=" for part in ("choices", "id", "cluster") if part not in chosen]
    return Layout(
        columns=() if form.get("guess") or not columns else tuple(words),
        sheet=str(form.get("sheet") or "") or None,
        answer_type=_one_of(form.get("answer_type"), ANSWERS),  # type: ignore[arg-type]  # checked by Layout
        numbers=_one_of(form.get("numbers"), NUMBERS),  # type: ignore[arg-type]  # checked by Layout
        lenient=form.get("lenient") == "on",
        grader=str(form.get("grader") or "").strip() or None,
    )


def _one_of(value: object, known: tuple[tuple[str, str], ...]) -> str | None:
    return next((name for name, _ in known if name == value), None)


@ROUTER.post("/datasets/{dataset_id}/rename")
def rename(
    request: Request,
    dataset_id: str,
    context: OpenContext,
    user: Runner,
    name: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    if requests.holds(context, dataset_id) == "requests":
        return _changed_requests(request, context, user, dataset_id, name=name)
    return _changed(request, context, user, dataset_id, name=name)


def _changed(
    request: Request,
    context: OpenContext,
    user: User,
    dataset_id: str,
    *,
    name: str | None = None,
    layout: Layout | None = None,
) -> Response:
    try:
        made = kept.change(context, dataset_id, name=name, layout=layout)
    except ProctorError as problem:
        return _page(request, context, kept.one(context, dataset_id), problem)
    _note(context, user, "change-dataset", made, made.name)
    return go(request, f"/datasets/{made.id}", "Saved." if made.found.error is None else "")


@ROUTER.post("/datasets/{dataset_id}/delete")
def remove(request: Request, dataset_id: str, context: OpenContext, user: Runner) -> Response:
    """Runs that have ended keep what they asked."""
    of_requests = requests.holds(context, dataset_id) == "requests"
    gone: Dataset | Requests
    try:
        gone = requests.remove(context, dataset_id) if of_requests else kept.remove(context, dataset_id)
    except ProctorError as problem:
        if of_requests:
            return _page_of_requests(request, context, requests.one(context, dataset_id), problem=problem)
        return _page(request, context, kept.one(context, dataset_id), problem)
    _note(context, user, "delete-dataset", gone, gone.name)
    return go(request, "/datasets", f"Data set {gone.name} is deleted.")


def _note(context: OpenContext, user: User, action: str, of: Dataset | Requests, about: str) -> None:
    access.note(context, user.name, action, of.id, about, project_id=of.project_id)
