"""The dashboard: Data sets. One's own questions: uploaded, looked at, read otherwise, renamed, deleted, and run."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, File, Form, Request, UploadFile
from starlette.responses import Response

from proctor.errors import ProctorError
from proctor.service.admin import access
from proctor.service.admin.access import User
from proctor.service.datasets import kept
from proctor.service.datasets.kept import Dataset, Uploaded, Wish
from proctor.service.datasets.layout import PARTS, Layout
from proctor.web.dependencies import Filling, OpenContext, Project, Reader, Runner, go
from proctor.web.render import problem_facts, show

ROUTER = APIRouter()
ANSWERS = (("choices", "one of the options"), ("labels", "one of a few names"), ("text", "free words"))
NUMBERS = (
    ("from-0", "options' places from 0"),
    ("from-1", "options' places from 1"),
    ("texts", "options' texts"),
)
UNUSED = "not used"


@ROUTER.get("/datasets")
def listed(request: Request, context: OpenContext, user: Reader, project: Project = None) -> Response:
    return _list(request, context, project)


def _list(
    request: Request, context: OpenContext, project: int | None = None, problem: ProctorError | None = None
) -> Response:
    return show(
        request,
        "datasets.html",
        200 if problem is None else problem.http_status,
        here="datasets",
        datasets=kept.listed(context, project),
        chosen_project=project,
        names={each.id: each.name for each in access.projects(context)},
        most_bytes=context.settings.most_upload_bytes,
        problem=problem_facts(problem),
    )


@ROUTER.post("/datasets")
def upload(
    request: Request,
    context: OpenContext,
    user: Runner,
    file: Annotated[list[UploadFile], File()],
    name: Annotated[str, Form(max_length=200)] = "",
    project: Annotated[int, Form(ge=1, le=2**31 - 1)] = 1,
) -> Response:
    """Keep what was dropped, and go to what was found in it."""
    files = [Uploaded(each.filename or "", each.file) for each in file]
    wish = Wish(name.strip() or None, Layout(), project, user.name)
    try:
        made = kept.upload(context, files, wish)
    except ProctorError as problem:
        return _list(request, context, problem=problem)
    if made.made:
        _note(context, user, "upload-dataset", made, f"{made.name}: {made.bytes:,} bytes")
    return go(request, f"/datasets/{made.id}", "" if made.made else f"It is here already, as {made.name}.")


@ROUTER.get("/datasets/{dataset_id}")
def one(request: Request, dataset_id: str, context: OpenContext, user: Reader) -> Response:
    return _page(request, context, kept.one(context, dataset_id))


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
    """Every column of the form says what it is, so that none is guessed; `guess` leaves all to their names again."""
    columns = [str(value) for value in form.getlist("column")]
    chosen = [str(value) for value in form.getlist("part")]
    words = [f"{part}={name}" for name, part in zip(columns, chosen, strict=False) if part in PARTS]
    words += [f"{part}=" for part in ("choices", "id", "cluster") if part not in chosen]
    layout = Layout(
        columns=() if form.get("guess") or not columns else tuple(words),
        sheet=str(form.get("sheet") or "") or None,
        answer_type=_one_of(form.get("answer_type"), ANSWERS),  # type: ignore[arg-type]  # checked by Layout
        numbers=_one_of(form.get("numbers"), NUMBERS),  # type: ignore[arg-type]  # checked by Layout
        lenient=form.get("lenient") == "on",
        grader=str(form.get("grader") or "").strip() or None,
    )
    return _changed(request, context, user, dataset_id, layout=layout)


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
    try:
        gone = kept.remove(context, dataset_id)
    except ProctorError as problem:
        return _page(request, context, kept.one(context, dataset_id), problem)
    _note(context, user, "delete-dataset", gone, gone.name)
    return go(request, "/datasets", f"Data set {gone.name} is deleted.")


def _note(context: OpenContext, user: User, action: str, of: Dataset, about: str) -> None:
    access.note(context, user.name, action, of.id, about, project_id=of.project_id)
