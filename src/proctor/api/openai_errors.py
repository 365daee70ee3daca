"""Errors in the shape of OpenAI's API, for whatever is asked below /v1; elsewhere they have proctor's own."""

from __future__ import annotations

from typing import Any

from proctor.errors import ConfigError

PREFIX = "/v1"
TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
CODES = {
    401: "invalid_api_key",
    403: "insufficient_permissions",
    405: "method_not_allowed",
    409: "conflict",
    413: "file_too_large",
    429: "rate_limit_exceeded",
}


def is_openai(path: str) -> bool:
    return path.startswith(f"{PREFIX}/")


def shaped(path: str, status: int, body: dict[str, Any], error: Exception | None = None) -> dict[str, Any]:
    """The body of an error as the path's callers read it; `body` is proctor's own.

    >>> shaped("/v1/models/x", 404, {"detail": "No model x", "error": "not-found"})["error"]["code"]
    'model_not_found'
    """
    if not is_openai(path):
        return body
    kind = TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": body["detail"], "type": kind, **_named(path, status, body, error)}}


def _named(path: str, status: int, body: dict[str, Any], error: Exception | None) -> dict[str, str | None]:
    """Which parameter is meant, and OpenAI's word for what is wrong with it; None where there is none."""
    if isinstance(error, ConfigError) and error.param:
        return {"param": error.param, "code": error.code or None}
    if status == 404:
        if path.startswith(f"{PREFIX}/models/"):
            return {"param": "model", "code": "model_not_found"}
        return {
            "param": "id" if error is not None else None,
            "code": None,
        }  # without one there is no such path
    fields = [each["field"].removeprefix("query.") for each in body.get("errors", ())]
    return {"param": fields[0] if fields else None, "code": CODES.get(status)}


EXAMPLE = {
    "error": {
        "message": "No such File object: file-1",
        "type": "invalid_request_error",
        "param": "id",
        "code": None,
    }
}
# What any route below /v1 may answer besides its own result.
RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"description": told, "content": {"application/json": {"example": EXAMPLE}}}
    for status, told in (
        (400, "A parameter cannot be meant"),
        (401, "No key, or one that is unknown"),
        (403, "The key's scope does not suffice"),
        (404, "No such object"),
        (405, "No such method"),
        (409, "Not while things stand so"),
        (413, "The file is too large"),
        (429, "Too many requests"),
        (500, "A defect of proctor"),
        (502, "A provider does not answer"),
        (503, "The database does not answer"),
    )
}
