"""The dashboard: the suites with what they ask and where their rows are, and official files brought in by upload."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, Response

from proctor.errors import ProctorError
from proctor.service.admin import access
from proctor.service.admin.access import User
from proctor.service.data import suite_data
from proctor.service.datasets.arriving import Upload, check_room, received
from proctor.service.official import uploads
from proctor.service.official.uploads import Brought
from proctor.service.opening.catalogue import suite_facts
from proctor.settings import Settings
from proctor.web.dependencies import Admin, OpenContext, Reader, Text, is_fragment
from proctor.web.render import problem_facts, show

ROUTER = APIRouter()
Unfolded = Annotated[str, Query(alias="open", max_length=50)]
MOST_TOLD = 30  # files of an upload that are named one by one
OWN_PATH = re.compile(r"/(?![/\\])[^\x00-\x20\\]{0,1999}")


@ROUTER.get("/suites")
def suites_page(
    request: Request, context: OpenContext, user: Reader, q: Text = "", show_suite: Unfolded = ""
) -> Response:
    """What is looked for stands open, and so does `open`, a suite's key,; the others are a line each."""
    found = [_facts(suite, context.settings) for suite in suite_facts()]
    words = q.lower().split()
    listed = [kept for each in found if (kept := _fitting(each, words)) is not None]
    return show(
        request,
        "_suite_rows.html" if is_fragment(request) else "suites.html",
        here="suites",
        suites=listed,
        q=q,
        opened=show_suite,
        hub=suite_data.hub_pages(context.settings),
        most_bytes=context.settings.most_batch_bytes,
        back="",
    )


def _facts(suite: dict[str, Any], settings: Settings) -> dict[str, Any]:
    """A suite with the state of each task's rows, and what a model is shown."""
    origins = suite_data.origins(settings)
    tasks = [{**task, "origins": origins.get(task["task"], [])} for task in suite["tasks"]]
    counted = {name: sum(1 for task in tasks if name in task["origins"]) for name in ("imported", "hub")}
    pages = suite_data.hub_pages(settings)
    on_hub = sum(1 for task in tasks if not task["origins"] and task["task"] in pages)
    here = sum(1 for task in tasks if task["origins"])
    return {
        **suite,
        "tasks": tasks,
        "items": sum(task["size"] or 0 for task in tasks if not task["extra"]),
        "imported": counted["imported"],
        "fetched": sum(1 for task in tasks if task["origins"] == ["hub"]),
        "on_hub": on_hub,
        "sample": len(tasks) - here - on_hub,
        "licences": sorted(
            {page.licence for task in tasks if (page := pages.get(task["task"])) and page.licence}
        ),
        "unclear": any((page := pages.get(task["task"])) is None or not page.licence for task in tasks),
        "prompts": suite_data.example_prompts(suite["suite"], settings),
    }


def _fitting(suite: dict[str, Any], words: list[str]) -> dict[str, Any] | None:
    """The suite with the tasks that hold all words; all of them where its own name does; None where nothing does."""
    named = f"{suite['suite']} {suite['title']}".lower()
    if all(word in named for word in words):
        return {**suite, "all_tasks": len(suite["tasks"])}
    tasks = [
        task
        for task in suite["tasks"]
        if all(word in f"{named} {task['task']} {task['title']} {task['kind']}".lower() for word in words)
    ]
    return {**suite, "tasks": tasks, "all_tasks": len(suite["tasks"])} if tasks else None


# Import -------------------------------------------------------------------------------------------


@ROUTER.get("/suites/{suite}/import")
def import_form(request: Request, suite: str, context: OpenContext, user: Admin, back: Text = "") -> Response:
    """The form alone, with where to have the files. Raises: NotFound."""
    return _import_page(request, context, suite, back=back)


def _import_page(
    request: Request,
    context: OpenContext,
    suite: str,
    *,
    back: str = "",
    found: Brought | None = None,
    problem: ProctorError | None = None,
) -> HTMLResponse:
    of = uploads.suite_of(suite)
    piece = is_fragment(request)
    return show(
        request,
        "_suite_import.html" if piece else "suite_import.html",
        200 if problem is None or piece else problem.http_status,
        here="suites",
        suite=of.key,
        title=of.title,
        pages=_pages(context.settings, [task.key for task in of.tasks]),
        found=found,
        most_told=MOST_TOLD,
        most_bytes=context.settings.most_batch_bytes,
        back=back if OWN_PATH.fullmatch(back) else "",
        problem=problem_facts(problem),
    )


def _pages(settings: Settings, tasks: list[str]) -> list[tuple[str, str]]:
    """Where the suite's rows are had: the names of the hub's data sets with their addresses."""
    known = suite_data.hub_pages(settings)
    return sorted({(known[task].dataset, known[task].address) for task in tasks if task in known})


@ROUTER.post("/suites/{suite}/import")
async def import_rows(request: Request, suite: str, context: OpenContext, user: Admin) -> Response:
    """Bring official files in, streamed to the disk; then say task by task what they were."""
    back = ""
    try:
        await run_in_threadpool(uploads.suite_of, suite)
        await run_in_threadpool(check_room, context.settings, request.headers.get("content-length"))
        kind = request.headers.get("content-type", "")
        most = uploads.MOST_FILES
        async with received(request.stream(), kind, context.settings, most_files=most) as came:
            back = came.fields.get("back", "")
            found = await run_in_threadpool(_brought, context, user, suite, came)
    except ClientDisconnect:
        return Response("The upload broke off", 400)
    except ProctorError as problem:
        if problem.http_status == 404:
            raise
        return await run_in_threadpool(
            _import_page, request, context, suite, back=back, found=None, problem=problem
        )
    return await run_in_threadpool(_import_page, request, context, suite, back=back, found=found)


def _brought(context: OpenContext, user: User, suite: str, came: Upload) -> Brought:
    """Raises: ProctorError."""
    found = uploads.bring(context, suite, came.files)
    sets = [*found.tasks, *found.others]
    names = ", ".join(each.filename for each in came.files[:3])
    about = f"{names}: {len(sets)} sets, {sum(each.rows for each in sets):,} rows"
    access.note(context, user.name, "import-rows", suite, about)
    return found
