"""Requests of agents: what would reach beyond the box, or into another trial, is left out or refused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from proctor.engine.gateway.refusals import Refusal
from proctor.engine.spending import CHARACTERS_PER_TOKEN
from proctor.providers.passthrough.shapes import CHAT, RESPONSES

PATHS = (CHAT, RESPONSES)
# What the most tokens of a reply are called, by endpoint; the first is sent where the agent names none.
LENGTHS: Mapping[str, tuple[str, ...]] = {
    CHAT: ("max_tokens", "max_completion_tokens"),
    RESPONSES: ("max_output_tokens",),
}
# Tools that the agent itself runs. All others are run by the model's provider, which has a network.
OWN_TOOLS = frozenset({"function", "custom", "local_shell", "shell", "apply_patch", "namespace"})
# Options by which a provider would look things up, or charge by another table.
LEFT_OUT = ("web_search_options", "search_parameters", "service_tier")
# What points at something that was kept elsewhere, or goes on when the call has ended.
FOREIGN = ("conversation", "background", "prompt")
ADDRESSES = frozenset({"image_url", "file_url", "url", "file_id", "server_url"})
DEEPEST = 100
LENIENT_BYTES = 4 * 2**20  # what is odd and longer is not read by the slower reader
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """A request as it may be forwarded: `fields` is all of it but for the model and the length of its reply.

    `given` is the body as the agent wrote it, `remarks` says what was left out; `most` is the length it asked for.
    """

    path: str
    given: bytes
    fields: Json
    stream: bool
    wants_usage: bool
    most: int | None
    remarks: tuple[str, ...] = ()

    @property
    def key(self) -> bytes:
        """The same for requests that read the same: how long the reply may be, and how it comes, is left out."""
        asked = {name: self.fields[name] for name in self.fields if name not in _HOW}
        return hashlib.sha256(self.path.encode() + written(asked)).digest()

    @property
    def reads(self) -> int:
        """How many tokens it has, by its characters."""
        return len(self.given) // CHARACTERS_PER_TOKEN + 1

    @property
    def unbounded(self) -> Json:
        """Without the length of its reply."""
        return {name: value for name, value in self.fields.items() if name not in LENGTHS[self.path]}


_HOW = frozenset({"stream", "stream_options", *(name for names in LENGTHS.values() for name in names)})


def read_request(path: str, body: bytes, known: Collection[str]) -> AgentRequest:
    """`known` are the ids of the responses that this trial was given. Raises: Refusal."""
    fields = _object(body)
    remarks = list(_left_out(fields))
    _need_inside(fields, known)
    options = fields.get("stream_options")
    stream = fields.get("stream") is True
    lengths = [fields[name] for name in LENGTHS[path] if fields.get(name) is not None]
    if any(type(each) is not int or each < 1 for each in lengths):
        raise Refusal(
            400, f"{' and '.join(LENGTHS[path])}: give a whole number from 1", param=LENGTHS[path][0]
        )
    wants_usage = isinstance(options, dict) and options.get("include_usage") is True
    return AgentRequest(path, body, fields, stream, wants_usage, min(lengths, default=None), tuple(remarks))


def _object(body: bytes) -> Json:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        value = _lenient(body)
    if not isinstance(value, dict):
        raise Refusal(400, "The body is no JSON object.")
    return value


def _lenient(body: bytes) -> object:
    """What a tool printed may hold half a surrogate pair, which only the standard library reads."""
    if len(body) > LENIENT_BYTES:
        return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def written(fields: Json) -> bytes:
    """As JSON; names are written once, so that no two readers understand it differently."""
    try:
        return orjson.dumps(fields)
    except TypeError:
        pass
    try:
        return json.dumps(fields).encode("ascii")
    except (ValueError, RecursionError):
        raise Refusal(400, "The body is nested too deeply.") from None


def _left_out(fields: Json) -> Iterator[str]:
    for name in LEFT_OUT:
        if fields.pop(name, None) is not None:
            yield f"{name} was left out"
    tools = fields.get("tools")
    if not isinstance(tools, list):
        return
    own = [tool for tool in tools if isinstance(tool, dict) and tool.get("type", "function") in OWN_TOOLS]
    others = [tool.get("type") if isinstance(tool, dict) else tool for tool in tools if tool not in own]
    if not others:
        return
    fields["tools"] = own
    if not own:
        del fields["tools"]
        fields.pop("tool_choice", None)
    yield f"tools that the provider runs were left out: {', '.join(sorted({str(each)[:40] for each in others}))}"


def _need_inside(fields: Json, known: Collection[str]) -> None:
    """Raises: Refusal for what would lead out of the box or to another trial, or gives several replies."""
    for name in FOREIGN:
        if fields.get(name):
            raise Refusal(400, f"{name} is not available in this sandbox", param=name, code="unsupported")
    before = fields.get("previous_response_id")
    if before is not None and before not in known:
        raise Refusal(
            400, "previous_response_id is of no response of this trial", param="previous_response_id"
        )
    if fields.get("n") not in (None, 1):
        raise Refusal(400, "n: one reply a call", param="n", code="unsupported")
    said = [*_listed(fields.get("messages")), *_listed(fields.get("input"))]
    for part in _parts(said, 0):
        if part.get("type") == "item_reference":
            raise Refusal(400, "item_reference: give the item itself", param="input", code="unsupported")
        for name in ADDRESSES & part.keys():
            _need_data(name, part[name])


def _need_data(name: str, value: object) -> None:
    if isinstance(value, dict):
        return  # its own fields are looked at
    if value is not None and not (name != "file_id" and isinstance(value, str) and value.startswith("data:")):
        raise Refusal(
            400, f"{name}: this sandbox has no network; give the content itself (data:...)", param=name
        )


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _parts(value: object, depth: int) -> Iterator[Json]:
    """The objects in a conversation, from the outside in; what a tool printed is text, and not looked into."""
    if depth > DEEPEST:
        raise Refusal(400, "The body is nested too deeply.")
    if isinstance(value, dict):
        yield value
        for name in ("content", "output", "image_url", "file", "parts"):
            yield from _parts(value.get(name), depth + 1)
    elif isinstance(value, list):
        for each in value:
            yield from _parts(each, depth + 1)
