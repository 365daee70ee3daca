"""Every error in one shape: `detail`, `error` (a slug), `request_id`; `retry_after` or `errors` where they belong."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from proctor.api.guard import HEADERS
from proctor.api.openai_errors import shaped
from proctor.errors import BadLines, ProctorError, TooLarge, in_one_line

LOG = logging.getLogger("proctor.api")
QUEUE_FULL = "Queue is full. Please try again later."


class FieldError(BaseModel):
    """What is wrong with a field; of a line of an uploaded file with its number from 1 and a code."""

    field: str
    reason: str
    line: int | None = None
    code: str | None = None


class Problem(BaseModel):
    """The body of every error. `error` is a slug of docs/reference/errors.md."""

    detail: str
    error: str
    request_id: str
    retry_after: int | None = None
    errors: list[FieldError] | None = None


def _example(detail: str, error: str, **more: Any) -> dict[str, Any]:
    example = {"detail": detail, "error": error, "request_id": "5f0c3a9e1b2d4c68", **more}
    return {"model": Problem, "content": {"application/json": {"example": example}}}


# What any route may answer besides its own result.
RESPONSES: dict[int | str, dict[str, Any]] = {
    400: _example("Invalid benchmark suite. Supported: glue, superglue, mmlu, medical", "config"),
    401: _example("This server wants an API key, and the request has none", "unauthorized"),
    403: _example("This needs a key with the scope 'run'; ann's has 'read'", "forbidden"),
    404: _example("Benchmark job a967f363-ee96-4bac-9f52-4d169bbc4851 not found", "not-found"),
    405: _example("Method Not Allowed", "method-not-allowed"),
    409: _example("There is a project 'Nightly' already", "conflict"),
    429: _example(QUEUE_FULL, "queue-full", retry_after=300),
    500: _example("Benchmark execution failed: an error that proctor did not foresee", "internal"),
    502: _example("ollama at http://127.0.0.1:11434: nobody answers", "endpoint-not-found"),
    503: _example("PostgreSQL at db:5432: connection refused", "store"),
}


# What an upload may be told besides.
TOO_LARGE: dict[int | str, dict[str, Any]] = {
    413: _example("The upload is larger than 50 MB, which is what this server takes", TooLarge.slug)
}


def add_handlers(app: FastAPI) -> None:
    app.add_exception_handler(ProctorError, _proctor_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unforeseen)


def _answer(
    request: Request, status: int, detail: str, error: str, *, of: Exception | None = None, **more: Any
) -> Response:
    # Whoever asked for a page gets the error as one.
    paint = getattr(request.app.state, "paint", None)
    page: Response | None = paint(request, status, detail, error) if paint else None
    if page is not None:
        return page
    ident = request.scope.get("state", {}).get("request_id", "")
    body = {"detail": detail, "error": error, "request_id": ident, **more}
    headers = {"Retry-After": str(more["retry_after"])} if "retry_after" in more else {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse(shaped(request.url.path, status, body, of), status, headers)


async def _proctor_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ProctorError)
    wait_s = getattr(error, "retry_after_s", None)
    more: dict[str, Any] = (
        {"retry_after": round(wait_s)} if wait_s is not None and error.http_status == 429 else {}
    )
    if isinstance(error, BadLines):
        more["errors"] = [_line(each) for each in error.faults]
    detail = QUEUE_FULL if error.slug == "queue-full" else str(error)
    if error.http_status >= 500:
        ident = request.scope.get("state", {}).get("request_id")
        LOG.error("request %s: %s: %s", ident, error.slug, in_one_line(str(error)))
    return _answer(request, error.http_status, detail, error.slug, of=error, **more)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    errors = [_field(each) for each in error.errors()]
    told = "; ".join(f"{each['field']}: {each['reason']}" for each in errors[:3])
    return _answer(request, 400, f"The request cannot be meant: {told}", "config", errors=errors)


def _line(fault: Mapping[str, Any]) -> dict[str, Any]:
    """As OpenAI's batches tell it (code, message, param, line), in the words of our own errors."""
    return {
        "field": fault["param"] or "line",
        "reason": fault["message"],
        "line": fault["line"],
        "code": fault["code"],
    }


def _field(each: Mapping[str, Any]) -> dict[str, str]:
    if each["type"] == "json_invalid":  # its place is a character's number, not a field
        why = each.get("ctx", {}).get("error", each["msg"])
        return {"field": "body", "reason": f"no JSON from character {each['loc'][-1]} on: {why}"}
    place = ".".join(str(part) for part in each["loc"] if part != "body")
    return {"field": place or "body", "reason": each["msg"]}


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    slug = {404: "not-found", 405: "method-not-allowed", 413: TooLarge.slug}.get(error.status_code, "config")
    return _answer(request, error.status_code, str(error.detail), slug)


async def _unforeseen(request: Request, error: Exception) -> Response:
    """No traceback reaches a client; it stands in the log under the request's id."""
    ident = request.scope.get("state", {}).get("request_id", "")
    LOG.error("request %s", ident, exc_info=error)
    detail = (
        f"Benchmark execution failed: an error that proctor did not foresee; the log has it under {ident}"
    )
    answer = _answer(request, 500, detail, "internal")
    # This answer is made outside the guard, which gives all others their headers.
    answer.headers.update({**HEADERS, "X-Request-ID": ident})
    return answer
