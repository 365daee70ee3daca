"""Giving a result away: a link is made by one press, opened by anyone until its day, listed and revoked here."""

from __future__ import annotations

import time
from html import escape
from typing import Annotated

from fastapi import APIRouter, Form, Path, Request
from starlette.responses import HTMLResponse, Response

from proctor.errors import NotFound
from proctor.service.giving import shares
from proctor.service.giving.shares import DAYS, SharedPage
from proctor.web.dependencies import (
    OpenContext,
    Reader,
    Runner,
    go,
    is_fragment,
    whole_context,
)
from proctor.web.files import SHARED_POLICY, under
from proctor.web.render import show, stamp

ROUTER = APIRouter()


@ROUTER.post("/shares")
def share(
    request: Request,
    context: OpenContext,
    user: Runner,
    address: Annotated[str, Form(max_length=2000)] = "",
    days: Annotated[int, Form(ge=1, le=90)] = 7,
) -> HTMLResponse:
    """The link stands in this answer and nowhere else."""
    made = shares.give(context, user, address, days, now=time.time())
    # What the browser calls us, proxies or not; without it, what the request says.
    origin = request.headers.get("origin") or str(request.base_url)
    piece = is_fragment(request)
    return show(
        request,
        "_shared.html" if piece else "shared_made.html",
        here="shares",
        made=made,
        link=origin.rstrip("/") + made.path,
        days=days,
    )


@ROUTER.get("/shared/{token}")
def open_shared(request: Request, token: Annotated[str, Path(max_length=200)]) -> Response:
    """The document as it was made: no log-in, and nothing else of the store."""
    try:
        found, html = shares.read(whole_context(request), token, now=time.time())
    except NotFound:
        return show(request, "shared_gone.html", 404)
    return under(request, SHARED_POLICY, HTMLResponse(framed(found, html)))


def framed(found: SharedPage, html: str) -> str:
    """The document with a line that says whose it is, of when, and until when."""
    told = (
        f'<p class="when">Shared by {escape(found.user)} on {stamp(found.created_at)}; figures are as they were then. '
        f"This link ends on {stamp(found.expires_at)}.</p>"
    )
    head, main, rest = html.partition("<main>\n")
    return f"{head}{main}{told}\n{rest}"


@ROUTER.get("/settings/shares")
def shares_page(request: Request, context: OpenContext, user: Reader) -> HTMLResponse:
    found = shares.given(context, user)
    return show(request, "shares.html", here="shares", shares=found, now=time.time(), lasting=DAYS)


@ROUTER.post("/shares/{ident}/revoke")
def revoke(
    request: Request, context: OpenContext, user: Reader, ident: Annotated[str, Path(max_length=40)]
) -> Response:
    ended = shares.revoke(context, user, ident, now=time.time())
    return go(request, "/settings/shares", f"The link to {ended.title} no longer opens.")
