"""One line of a file of requests, in OpenAI's batch format: read, checked, and made an item."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import orjson

from proctor.types import Item, Request

GROUP = "requests"  # the one task of every file
ENDPOINT = "/v1/chat/completions"


@dataclass(frozen=True, slots=True)
class RequestLine:
    """A line that can be sent: the name its user gave it, where it goes, and what is sent there."""

    custom_id: str
    url: str
    body: dict[str, Any]


class BadRequestLine(ValueError):
    """Why a line cannot be sent, in a sentence; `code` is what OpenAI's batches call it, `param` the field."""

    def __init__(self, code: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.code, self.param = code, param


def parse(text: bytes) -> RequestLine:
    """Raises: BadRequestLine."""
    try:
        record = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadRequestLine("invalid_json_line", f"not JSON: {error}") from None
    if not isinstance(record, dict):
        raise BadRequestLine("invalid_json_line", "not a JSON object")
    custom_id, body = record.get("custom_id"), record.get("body")
    if not isinstance(custom_id, str) or not custom_id:
        raise BadRequestLine("missing_required_parameter", "custom_id is missing, or no text", "custom_id")
    if not isinstance(body, dict):
        raise BadRequestLine("missing_required_parameter", "body is missing, or no object", "body")
    url = record.get("url", ENDPOINT)
    if not isinstance(url, str) or not url.startswith("/"):
        raise BadRequestLine("invalid_url", "url is no path such as /v1/chat/completions", "url")
    return RequestLine(custom_id, url, body)


def item_of(line: RequestLine) -> Item:
    """The line as an item. Its hash is of the endpoint and the body without the model: any model is asked the same."""
    model = line.body.get("model")
    asked = {name: value for name, value in line.body.items() if name != "model"}
    said = orjson.dumps([line.url, asked], option=orjson.OPT_SORT_KEYS)
    return Item(
        id=line.custom_id,
        group=GROUP,
        ask=Request(line.url, orjson.dumps(line.body), model if isinstance(model, str) else None),
        hash=hashlib.sha256(said).hexdigest()[:32],
    )
