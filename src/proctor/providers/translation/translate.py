"""Requests of one of OpenAI's two shapes for servers that speak the other, and a reader for what they answer."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from proctor.providers.passthrough.shapes import CHAT, RESPONSES
from proctor.providers.translation.chat_request import ChatRequest
from proctor.providers.translation.manners import Manner, manner_of
from proctor.providers.translation.readers import AsItIs, ReplyReader, ToChat, ToResponses
from proctor.providers.translation.response_writer import ResponseWriter
from proctor.providers.translation.responses_request import ResponsesRequest
from proctor.providers.translation.untranslatable import Json, Untranslatable, dumped, loaded

# What a response repeats of its request; tools are not repeated, which would double every reply.
_ECHOED: Json = {
    "instructions": None, "max_output_tokens": None, "model": "", "parallel_tool_calls": True,
    "previous_response_id": None, "reasoning": {"effort": None, "summary": None}, "store": False, "temperature": None,
    "text": {"format": {"type": "text"}}, "tool_choice": "auto", "top_p": None, "truncation": "disabled",
    "metadata": {},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Translation:
    """A request as the model's server understands it. `remarks` say what could not be told it.

    `reader` is for one reply; `fresh()` makes another for a reply that is asked for again.
    """

    body: bytes
    remarks: tuple[str, ...]
    reader: ReplyReader
    fresh: Callable[[], ReplyReader]


def translate(
    path: str, body: bytes, upstream: str, *, provider: str = "", unique: str | None = None
) -> Translation:
    """A request to `path` for the endpoint `upstream` of the provider's server.

    Ids that are made for its reply derive from `unique`. Raises: Untranslatable.
    """
    if path == upstream:
        return _translation(body, (), AsItIs)
    asked = _object(body)
    own = unique or uuid.uuid4().hex
    if (path, upstream) == (RESPONSES, CHAT):
        return _for_chat(asked, own, manner_of(provider))
    if (path, upstream) == (CHAT, RESPONSES):
        request = ResponsesRequest(asked)
        make = partial(ToChat, own, str(asked.get("model") or ""), request.usage_wanted)
        return _translation(dumped(request.fields), tuple(request.remarks), make)
    raise Untranslatable("url", f"no request to {path} can be put as one to {upstream}")


def _for_chat(asked: Json, unique: str, manner: Manner) -> Translation:
    request = ChatRequest(asked, manner)
    echo = {name: default if asked.get(name) is None else asked[name] for name, default in _ECHOED.items()}
    begin = partial(ResponseWriter, {**echo, "tools": []}, request.names, frozenset(request.call_ids), unique)
    return _translation(dumped(request.fields), tuple(request.remarks), partial(ToResponses, begin))


def _translation(body: bytes, remarks: tuple[str, ...], make: Callable[[], ReplyReader]) -> Translation:
    return Translation(body, tuple(dict.fromkeys(remarks)), make(), make)


def _object(body: bytes) -> Json:
    value = loaded(body)
    if not isinstance(value, dict):
        raise Untranslatable("body", "must be a JSON object")
    return value
