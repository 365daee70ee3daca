"""One line of a batch's output, in the shape of OpenAI's files or of vLLM's `run-batch`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import orjson

Shape = Literal["openai", "vllm"]


@dataclass(frozen=True, slots=True)
class OutputLine:
    """What became of one request. `body` is the server's own words, a refusal's too.

    `status` is the HTTP status, None where no answer came; `code` and `message` say then why.
    """

    id: str
    custom_id: str
    request_id: str
    status: int | None
    body: bytes | None
    code: str | None = None
    message: str | None = None

    @property
    def failed(self) -> bool:
        """Whether it belongs into the file of errors."""
        return self.status is None or self.status >= 400


def written(line: OutputLine, shape: Shape) -> bytes:
    """The line as JSON, with its end of line."""
    return (_vllm(line) if shape == "vllm" else _openai(line)) + b"\n"


def _openai(line: OutputLine) -> bytes:
    # A refusal over HTTP is a response, and `error` is null beside it: so OpenAI's own files have it.
    response = None if line.status is None else _response(line)
    error = {"code": line.code, "message": line.message} if line.status is None else None
    record = {"id": line.id, "custom_id": line.custom_id, "response": response, "error": error}
    return orjson.dumps(record)


def _vllm(line: OutputLine) -> bytes:
    response, error = _response(line), None
    if line.failed:
        response = {**response, "status_code": line.status or 500, "body": None}
        error = {"message": line.message, "type": line.code, "code": line.status}
    record = {"id": line.id, "custom_id": line.custom_id, "response": response, "error": error}
    return orjson.dumps(record)


def _response(line: OutputLine) -> dict[str, Any]:
    body: object = orjson.Fragment(line.body) if line.body and _is_json(line.body) else None
    if body is None and line.body:
        body = {"error": {"message": line.body.decode("utf-8", "replace"), "code": line.status}}
    return {"status_code": line.status, "request_id": line.request_id, "body": body}


def _is_json(body: bytes) -> bool:
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError:
        return False
    return b"\n" not in body  # one that is laid out over lines would break the file
