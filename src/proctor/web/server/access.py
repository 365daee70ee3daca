"""The dashboard: logging in and out, settings with API keys and limits, and the audit trail."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Form, Path, Query, Request
from starlette.responses import HTMLResponse, Response

from proctor import figures
from proctor.errors import ConfigError, Unauthorized
from proctor.service.admin import access, sessions
from proctor.service.admin.prune import prune
from proctor.service.opening.catalogue import key_variables, provider_status
from proctor.settings import Settings
from proctor.settings.variables import SETTINGS
from proctor.web.dependencies import Admin, OpenContext, Reader, Text, context_of, go, whole_context
from proctor.web.render import show

ROUTER = APIRouter()
Number = Annotated[int, Path(ge=1, le=2**31 - 1)]
PAGE = 100
Field = Annotated[str, Form(max_length=2000)]
DAY_S = 86400.0
MOST_DAYS = 3650
RUN_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# A second slash or a backslash would make a browser read the address of another server; it drops tabs and newlines.
LOCAL_PATH = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]*")

# What is in force, by the variable that sets it.
LIMITS: dict[str, Callable[[Settings], str]] = {
    "PROCTOR_MOST_RUNNING": lambda s: f"{s.most_running:,}",
    "PROCTOR_MOST_QUEUED": lambda s: f"{s.most_queued:,}",
    "PROCTOR_REQUESTS_PER_MINUTE": lambda s: f"{s.requests_per_minute:,}",
    "PROCTOR_JOB_TIMEOUT": lambda s: figures.duration(s.job_timeout_s),
    "PROCTOR_JOB_MEMORY_MB": lambda s: f"{s.most_memory_bytes / 1e6:,.0f} MB",
    "PROCTOR_DISK_FREE_MB": lambda s: f"{s.least_disk_bytes / 1e6:,.0f} MB",
    "PROCTOR_UPLOAD_MB": lambda s: f"{s.most_upload_bytes / 1e6:,.0f} MB",
    "PROCTOR_BATCH_UPLOAD_MB": lambda s: f"{s.most_batch_bytes / 1e6:,.0f} MB",
    "PROCTOR_AUTH": lambda s: "keys" if s.auth else "off",
    "PROCTOR_HOSTS": lambda s: ", ".join(s.hosts) or "none",
}


# In and out ---------------------------------------------------------------------------------------


@ROUTER.get("/login")
def login_page(request: Request, to: Text = "/") -> HTMLResponse:
    return show(request, "login.html", to=local_path(to), problem="")


@ROUTER.post("/login")
def log_in(request: Request, key: Field = "", to: Field = "/") -> Response:
    try:
        token, user = sessions.log_in(whole_context(request), key)
    except Unauthorized as error:
        return show(request, "login.html", 401, to=local_path(to), problem=str(error))
    answer = go(request, local_path(to), f"Logged in as {user.name}.")
    answer.set_cookie(
        sessions.COOKIE,
        token,
        max_age=int(sessions.LONGEST_S),
        path="/",
        # TLS is the proxy's: that the page came by it, the browser says, and no page can say it falsely.
        secure=request.headers.get("origin", "").startswith("https://"),
        httponly=True,
        samesite="lax",
    )
    return answer


@ROUTER.post("/logout")
def log_out(request: Request) -> Response:
    if token := request.cookies.get(sessions.COOKIE):
        sessions.log_out(whole_context(request), token)
    answer = go(request, "/login", "Logged out.")
    answer.delete_cookie(sessions.COOKIE, path="/", httponly=True, samesite="lax")
    return answer


def local_path(to: str) -> str:
    """Where to go after logging in: a path of this server, else the first page.

    >>> local_path("/runs?status=failed"), local_path("//evil.example"), local_path("/\\\\evil.example")
    ('/runs?status=failed', '/', '/')
    """
    return to if LOCAL_PATH.fullmatch(to) and not to.startswith(("/login", "/logout")) else "/"


# Settings -----------------------------------------------------------------------------------------


@ROUTER.get("/settings")
def settings_page(
    request: Request, user: Admin, older: Annotated[str, Query(max_length=10)] = ""
) -> Response:
    """With `older`, a number of days, also how many runs would be deleted."""
    return _settings(request, older=older)


@ROUTER.post("/settings/keys")
def create_key(
    request: Request,
    context: OpenContext,
    user: Admin,
    of_user: Annotated[str, Form(alias="user", max_length=100)] = "",
    name: Annotated[str, Form(max_length=100)] = "",
    scopes: Annotated[list[str] | None, Form(max_length=4)] = None,
    projects: Annotated[list[int] | None, Form(max_length=1000)] = None,
) -> Response:
    """The key stands in this answer and nowhere else."""
    # A form cannot untick by itself what does not go with admin.
    named = None if "admin" in (scopes or ()) else projects or ()
    made, secret = access.create_key(
        context, of_user.strip(), name.strip(), scopes or (), by=user.name, projects=named
    )
    return _settings(request, made=made, secret=secret)


@ROUTER.post("/settings/keys/{number}/projects")
def change_key(
    request: Request,
    number: Number,
    context: OpenContext,
    user: Admin,
    projects: Annotated[list[int] | None, Form(max_length=1000)] = None,
) -> Response:
    """These projects from now on, and no other."""
    changed = access.set_projects(context, number, projects or (), by=user.name)
    words = access.reached_words(context, changed)
    return go(request, "/settings", f"Key {changed.id} of {changed.user} now reaches {words}.")


@ROUTER.post("/settings/keys/{number}/revoke")
def revoke_key(request: Request, number: Number, context: OpenContext, user: Admin) -> Response:
    revoked = access.revoke_key(context, number, by=user.name)
    return go(request, "/settings", f"Key {revoked.id} of {revoked.user} is revoked.")


@ROUTER.post("/settings/prune")
def prune_runs(request: Request, context: OpenContext, user: Admin, older: Field = "") -> Response:
    days = _days(older)
    pruned = prune(context, days * DAY_S, by=user.name)
    return go(
        request, "/settings", f"{len(pruned.runs):,} runs deleted that ended more than {days} days ago."
    )


def _settings(
    request: Request, *, older: str = "", made: access.ApiKey | None = None, secret: str = ""
) -> HTMLResponse:
    context = context_of(request)
    days = _days(older) if older else None
    variables = key_variables()
    return show(
        request,
        "settings.html",
        here="settings",
        keys=(keys := access.keys(context)),
        reached={key.id: access.reached_words(context, key) for key in keys},
        scopes=access.SCOPES,
        made=made,
        secret=secret,
        limits=_limits(context.settings),
        provider_keys=[
            (each, variables[each.name])
            for each in provider_status(context.settings)
            if each.name in variables
        ],
        days=days,
        ended=None if days is None else _ended_before(request, days),
    )


def _ended_before(request: Request, days: int) -> int:
    context = context_of(request)
    return len(prune(context, days * DAY_S, by="", dry=True).runs)


def _limits(settings: Settings) -> list[dict[str, Any]]:
    known = {each.name: each for each in SETTINGS}
    return [{"setting": known[name], "value": value(settings)} for name, value in LIMITS.items()]


def _days(older: str) -> int:
    """Raises ConfigError for what is no number of days."""
    if not (older.isascii() and older.isdecimal() and len(older) < 6 and 1 <= int(older) <= MOST_DAYS):
        raise ConfigError(f"older {older[:20]!r}: give a whole number of days, 1 to {MOST_DAYS:,}")
    return int(older)


# The audit trail ----------------------------------------------------------------------------------


@ROUTER.get("/audit")
def audit_page(
    request: Request,
    context: OpenContext,
    user: Reader,
    who: Annotated[str, Query(alias="user", max_length=100)] = "",
    action: Annotated[str, Query(max_length=100)] = "",
    before: Annotated[str, Query(max_length=10)] = "",
) -> HTMLResponse:
    """What was done where one reaches, newest first; `before` is the number of the last entry already seen."""
    after = int(before) if before.isascii() and before.isdecimal() and int(before) < 2**31 else None
    found = access.deeds(context, user=who or None, action=action or None, before=after, limit=PAGE + 1)
    deeds = found[:PAGE]
    return show(
        request,
        "audit.html",
        here="audit",
        deeds=deeds,
        runs={deed.target for deed in deeds if RUN_ID.fullmatch(deed.target)},
        asked={"user": who, "action": action},
        users=sorted({deed.user for deed in deeds}),
        actions=sorted({deed.action for deed in deeds}),
        first=after is None,
        next=deeds[-1].id if len(found) > PAGE else None,
    )
