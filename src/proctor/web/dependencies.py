"""What pages depend on: the context as far as one reaches, who is there, and which project is looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated
from urllib.parse import quote

from fastapi import Depends, Path, Query, Request
from starlette.datastructures import FormData
from starlette.responses import RedirectResponse, Response

from proctor.errors import Unauthorized
from proctor.service.admin.access import Reach, User
from proctor.service.context import Context

NOBODYS = Reach(frozenset())


def context_of(request: Request) -> Context:
    """As far as whoever is there reaches: no page gets a store that shows more; without a log-in, nothing."""
    user: User | None = request.scope["state"].get("user")
    return whole_context(request).within(user.reach if user else NOBODYS)


def whole_context(request: Request) -> Context:
    """For logging in and out, which come before any reach."""
    context: Context = request.app.state.context
    return context


OpenContext = Annotated[Context, Depends(context_of)]


def _with_scope(scope: str) -> Callable[[Request], User]:
    def who(request: Request) -> User:
        """Raises Unauthorized, Forbidden."""
        user: User | None = request.scope["state"]["user"]
        if user is None:
            raise Unauthorized("Log in with an API key to see this page")
        user.check(scope)
        return user

    return who


Reader = Annotated[User, Depends(_with_scope("read"))]
Labeller = Annotated[User, Depends(_with_scope("label"))]
Runner = Annotated[User, Depends(_with_scope("run"))]
Admin = Annotated[User, Depends(_with_scope("admin"))]


def _project(project: Annotated[str, Query(max_length=10)] = "") -> int | None:
    return int(project) if project.isdigit() and 0 < int(project) < 2**31 else None


Project = Annotated[int | None, Depends(_project)]


async def _form(request: Request) -> FormData:
    """Read here, so that routes may be plain functions, which work in threads of their own."""
    return await request.form(max_files=0, max_fields=200)


Filling = Annotated[FormData, Depends(_form)]
Text = Annotated[str, Query(max_length=300)]
RunId = Annotated[str, Path(max_length=100)]


def is_fragment(request: Request) -> bool:
    """True if htmx asks for a piece of the page; a browser that goes back wants all of it."""
    headers = request.headers
    return headers.get("hx-request") == "true" and headers.get("hx-history-restore-request") != "true"


def go(request: Request, to: str, said: str = "") -> Response:
    """Send the browser on after it changed something; `said` is shown there once."""
    if is_fragment(request):
        answer = Response(status_code=204, headers={"HX-Redirect": to})
    else:
        answer = RedirectResponse(to, 303)
    if said:
        # Read and deleted by app.js; a cookie, so that the words are not part of an address to be shared.
        answer.set_cookie("said", quote(said), max_age=30, samesite="strict")
    return answer
