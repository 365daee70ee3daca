"""The ways in which lines of requests are written, made one: an id, an endpoint, and the body that is sent there.

    {"custom_id", "method", "url", "body"}   OpenAI's batches, vLLM, Groq, Mistral; url without /v1 as Azure has it
    {"custom_id", "body"}                    Together, Fireworks: the endpoint is told by the body
    {"custom_id", "params"}                  Anthropic's batches
    {"custom_id" or "key", "request"}        Gemini's, where the request has OpenAI's fields
    {"messages"}, {"prompt"}, {"input"}      the body alone; its id is made of the line's number

What is taken from a line is cut out of its text (raw.py): nothing of a body is written anew where it need not be.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from proctor.sources.batches import raw
from proctor.sources.batches.checked import BadRequestLine

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
RESPONSES, EMBEDDINGS = "/v1/responses", "/v1/embeddings"
ENDPOINTS = (CHAT, COMPLETIONS, RESPONSES, EMBEDDINGS)
ENVELOPES = ("body", "params", "request")
PLAIN = ("messages", "prompt", "input")
NEEDED = {
    CHAT: ("messages",),
    COMPLETIONS: ("prompt",),
    RESPONSES: ("input", "prompt"),
    EMBEDDINGS: ("input",),
}
# Fields that tell a body with `input` apart where no endpoint is named.
OF_RESPONSES = frozenset(
    {"instructions", "max_output_tokens", "reasoning", "text", "previous_response_id", "store"}
)
OF_EMBEDDINGS = frozenset({"dimensions", "encoding_format", "input_type"})
MOST_ID_CHARS = 512  # of a custom_id, which databases keep in their indexes
OTHER_ENDPOINT = re.compile(r"/v1(/[a-z0-9_-]+)+")
OF_LINES = frozenset({"custom_id", "method", "url"})
ANTHROPIC_PARTS = frozenset({"image", "document", "tool_use", "tool_result", "thinking", "redacted_thinking"})


def envelope_of(record: Mapping[str, Any]) -> str | None:
    """The field of a line that holds its body; None where the line itself is the body. Raises: BadRequestLine."""
    for name in ENVELOPES:
        if name in record:
            if type(record[name]) is not dict:
                raise BadRequestLine("invalid_type", f"{name} is no object", name)
            return name
    if not any(name in record for name in PLAIN):
        raise BadRequestLine(
            "missing_required_parameter", "missing required 'body': the request itself", "body"
        )
    return None


def id_of(record: Mapping[str, Any], envelope: str | None, number: int) -> str:
    """The id of a line; one made of its number where the line is the body alone. Raises: BadRequestLine."""
    custom_id = record.get("custom_id")
    if custom_id is None and envelope == "request":
        custom_id = record.get("key")
    if custom_id is None and envelope is None and "custom_id" not in record:
        return f"line-{number}"
    if custom_id is None:
        raise BadRequestLine("missing_required_parameter", "missing required 'custom_id'", "custom_id")
    if type(custom_id) is not str or not custom_id:
        said = "is empty" if custom_id == "" else f"is no text but {_kind(custom_id)}"
        raise BadRequestLine("invalid_type", f"custom_id {said}", "custom_id")
    if "\0" in custom_id or not (custom_id.isascii() or _whole(custom_id)):
        raise BadRequestLine(
            "invalid_value", "custom_id has a sign that no text has (NUL, or half of a pair)", "custom_id"
        )
    if len(custom_id) > MOST_ID_CHARS:
        said = f"custom_id has {len(custom_id):,} characters, and may have {MOST_ID_CHARS}"
        raise BadRequestLine("invalid_value", said, "custom_id")
    return custom_id


def _kind(value: object) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return names.get(type(value), "null")


def _whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def url_of(
    record: Mapping[str, Any], envelope: str | None, wanted: str | None, *, others: bool = False
) -> str:
    """The endpoint, with /v1: the line's own, else `wanted`, else as the body looks. Raises: BadRequestLine."""
    url = record.get("url") if envelope in ("body", None) else None
    if url is None:
        return wanted or _by_look(record if envelope is None else record[envelope])
    if not isinstance(url, str):
        raise BadRequestLine("invalid_type", f"url is no text but {_kind(url)}", "url")
    if url in NEEDED:
        return url
    full = endpoint_named(url, others=others)
    if full is None:
        raise BadRequestLine(
            "invalid_url", f"url is {url[:100]!r}; requests go to {', '.join(ENDPOINTS)}", "url"
        )
    return full


def endpoint_named(url: str, *, others: bool = False) -> str | None:
    """The endpoint with /v1 before it; None for one whose replies nothing is known of, unless there may be `others`.

    >>> endpoint_named("/chat/completions"), endpoint_named("/v1/rerank"), endpoint_named("/v1/rerank", others=True)
    ('/v1/chat/completions', None, '/v1/rerank')
    """
    full = url if url.startswith("/v1/") else f"/v1/{url.lstrip('/')}"
    known = full in ENDPOINTS or (others and OTHER_ENDPOINT.fullmatch(full) is not None)
    return full if known else None


def _by_look(body: Mapping[str, Any]) -> str:
    if "messages" in body:
        return CHAT
    if "input" in body:
        if body.keys() & OF_RESPONSES or _conversation(body["input"]):
            return RESPONSES
        if body.keys() & OF_EMBEDDINGS:
            return EMBEDDINGS
        raise BadRequestLine(
            "missing_required_parameter",
            "missing required 'url': a body with `input` goes to /v1/responses or /v1/embeddings; name one for all "
            "lines as the endpoint",
            "url",
        )
    return COMPLETIONS if "prompt" in body else CHAT


def _conversation(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def check_method(record: Mapping[str, Any]) -> None:
    """Raises: BadRequestLine."""
    if (method := record.get("method", "POST")) != "POST":
        raise BadRequestLine(
            "invalid_method", f"method is {str(method)[:20]!r}; requests are sent with POST", "method"
        )


def check_complete(record: Mapping[str, Any]) -> None:
    """Raises: BadRequestLine for what OpenAI's format lacks in a line."""
    for name in ("custom_id", "method", "url", "body"):
        if name not in record:
            raise BadRequestLine("missing_required_parameter", f"missing required '{name}'", name)


def check_body(url: str, body: Mapping[str, Any]) -> None:
    """Raises: BadRequestLine for a body that its endpoint cannot take."""
    if body.get("stream"):
        raise BadRequestLine(
            "invalid_stream",
            "stream is true, and a batch's requests are not sent in stream mode",
            "body.stream",
        )
    if "contents" in body:
        raise BadRequestLine(
            "unsupported_dialect",
            "`contents` is Gemini's own form, which cannot be sent as it stands: write `messages`",
            "body.contents",
        )
    needed = NEEDED.get(url)
    if needed is None:
        return
    if not (body.get(needed[0]) or body.get(needed[-1])):
        where = f"body.{needed[0]}"
        raise BadRequestLine(
            "missing_required_parameter", f"missing required '{needed[0]}' in the body", where
        )
    if url == CHAT and not _are_objects(body["messages"]):
        raise BadRequestLine("invalid_type", "messages is no list of objects", "body.messages")


def _are_objects(value: object) -> bool:
    if type(value) is not list:
        return False
    for each in value:  # noqa: SIM110 - a plain loop: of all that is looked at in a line, there is most of this
        if type(each) is not dict:
            return False
    return True


def body_of(text: bytes, record: dict[str, Any], envelope: str | None) -> bytes:
    """The bytes of a line's body, as they stand in it. Raises: BadRequestLine."""
    if envelope is None:
        beside = record.keys() & OF_LINES
        return _cut(text, beside) if beside else text.strip()
    body = raw.object_at(text, record, envelope)
    return body if envelope != "params" else _from_anthropic(body, record["params"])


def _cut(text: bytes, keys: set[str]) -> bytes:
    said = text.decode()
    for key in sorted(keys):
        said = raw.without(said, [key])
    return said.encode()


def _from_anthropic(body: bytes, params: Mapping[str, Any]) -> bytes:
    """The body with `system` as its first message and `stop_sequences` as `stop`. Raises: BadRequestLine."""
    messages = params.get("messages")
    parts = [
        part.get("type")
        for message in (messages if isinstance(messages, list) else ())
        if isinstance(message, dict) and isinstance(message.get("content"), list)
        for part in message["content"]
        if isinstance(part, dict)
    ]
    tools = params.get("tools")
    own = [
        tool
        for tool in (tools if isinstance(tools, list) else ())
        if isinstance(tool, dict) and "input_schema" in tool
    ]
    if own or ANTHROPIC_PARTS & set(parts):
        what = "tools" if own else "parts of messages"
        raise BadRequestLine(
            "unsupported_dialect",
            f"its {what} are in Anthropic's own form, which cannot be sent as they stand",
            "params",
        )
    text = body.decode()
    added = {}
    if "system" in params and isinstance(messages, list):
        first = json.dumps({"role": "system", "content": params["system"]})
        kept = raw.value_of(text, "messages")[1:-1].strip()
        added["messages"] = f"[{first}{', ' if kept else ''}{kept}]"
        text = raw.without(raw.without(text, ["system"]), ["messages"])
    if "stop_sequences" in params:
        added["stop"] = raw.value_of(text, "stop_sequences")
        text = raw.without(text, ["stop_sequences"])
    return raw.with_members(text, added).encode()
