"""What all wire shapes share: a request understood, a reply to write, a request turned away."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import orjson

from proctor.simulator.behaviour import Behaviour
from proctor.simulator.hard_quota import QuotaTerms
from proctor.simulator.protocols.memory import Room
from proctor.simulator.protocols.quirks import PLAIN, Quirks

Known = Mapping[str, Behaviour]
Finish = Literal["stop", "length", "refused", "blocked"]

PROMPT_SHARE = 0.1  # of the latency goes into reading the prompt
CALL_LETTERS = 4  # of a call's arguments, in one piece of a stream
MOST_RANKED = 20  # tokens whose log-probabilities a client may ask for

_ROOM = Room()
_PIECE = re.compile(r"\S+\s*|\s+")


@dataclass(frozen=True, slots=True)
class ScriptTurn:
    """A line of a script: what the model says, and the shell command that it wants run."""

    say: str
    run: str | None


@dataclass(frozen=True, slots=True)
class ServerTerms:
    """What the server accepts: prompts up to `context_tokens`, and no parameter named in `reject`.

    After `quota_day` requests the quota of the day is used up; more than `per_second` are refused, but for a
    tenth of a second's at once; `hard` is a quota by the minute that is told in headers. `first_token_style` is how
    tokens that are ranked look: as they are, after a space, both ways, or only the beginning of the answer. For
    `loading_s` seconds after its start a server says that it loads its model. `trained_tokens` is the longest context
    that the models can have, whatever a request of Ollama's asks for; `queue` is how many may wait for a slot.
    OpenAI's endpoints refuse a prompt that holds the text `decline` with 400. Where there is a `script`, it answers.
    """

    context_tokens: int = 8192
    reject: frozenset[str] = frozenset()
    quota_day: int | None = None
    per_second: float | None = None
    hard: QuotaTerms = QuotaTerms()
    first_token_style: str = "plain"
    quirks: Quirks = PLAIN
    loading_s: float = 0.0
    trained_tokens: int | None = None
    room: Room = _ROOM
    queue: int | None = None
    decline: str | None = None
    script: tuple[ScriptTurn, ...] = ()


@dataclass(frozen=True, slots=True)
class SchemaForm:
    """The JSON object that a reply has to be: one key, and the texts it may hold (empty: any)."""

    key: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """The call of a tool, with its arguments as JSON."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Scripted:
    """What a script answers in one turn, counted from 0: words, a call, or both."""

    text: str
    call: Call | None
    turn: int


class Paced(bytes):
    """A piece of a stream that carries a token: the times of tokens pass before it."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A chat request. Without messages it only loads the model (Ollama)."""

    model: str  # as the client wrote it
    name: str  # as this server knows it
    messages: tuple[tuple[str, str], ...]
    stream: bool
    input_tokens: int
    limit: int | None  # most output tokens
    cut: bool = False  # the prompt did not fit, and the client let it be cut
    think: bool = True
    usage: bool = False  # OpenAI streams report usage only when asked
    form: SchemaForm | None = None
    ranked: int | None = None  # how many likely first tokens to tell; None: no log-probabilities
    shows_thoughts: bool = True
    n: int = 1  # replies asked for at once
    applied: Mapping[str, Any] | None = (
        None  # parameters that have an effect, where a server's quirks say which
    )
    ignored: tuple[str, ...] = ()  # parameters that were read past
    context_tokens: int | None = None  # what the prompt and the reply may take up together
    runner: tuple[object, ...] = ()  # what a model is loaded with (Ollama)
    keep_alive_s: float | None = None
    call: Call | None = None  # of a tool, in place of an answer
    vector: tuple[int, str] | None = None  # of a text, in place of an answer: how many numbers, how written
    scripted: Scripted | None = None
    drawn: bool = False  # the temperature is above 0, so a reply need not be the same again
    varied: bool = False  # a penalty on repetition is at work, so the text is another


@dataclass(frozen=True, slots=True)
class Token:
    """A token that was said, with its natural log-probability and the likeliest ones at its place."""

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class SimulatedReply:
    """A reply before it takes a wire shape. `output_tokens` includes the reasoning tokens."""

    text: str
    reasoning: str
    finish: Finish  # blocked: the prompt never reached the model
    output_tokens: int
    reasoning_tokens: int
    tokens: tuple[Token, ...] = ()  # of the text, where log-probabilities were asked for
    call: Call | None = None  # of a tool; only a script has words beside it
    others: tuple[SimulatedReply, ...] = ()  # further replies to the same request

    @property
    def all(self) -> tuple[SimulatedReply, ...]:
        """Every reply to the request, in the order of their index."""
        return (self, *self.others)


@dataclass(frozen=True, slots=True)
class Stamp:
    """When a reply was made and which one it is; never part of what is said."""

    number: int
    at: float  # Unix time
    latency_s: float
    cached_tokens: int | None = None  # of the prompt, known from before; None where no server tells it
    waited_s: float = 0.0  # in line for a slot
    load_s: float = 0.0  # until the model was in memory

    @property
    def prompt_s(self) -> float:
        """The part of the latency that went into reading the prompt."""
        return self.latency_s * PROMPT_SHARE


class Denied(Exception):
    """A request that gets an error in place of a reply."""

    def __init__(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(f"{status}: {body}")
        self.status = status
        # Bytes are no JSON: some servers break in plain text.
        self.body = body if isinstance(body, bytes) else orjson.dumps(body)
        self.headers = headers or {}


class Wire(Protocol):
    """One protocol's shape: a module of this folder, or an object of Gemini's."""

    @property
    def STREAM_TYPE(self) -> str: ...

    def read(self, body: bytes, terms: ServerTerms, known: Known) -> Ask:
        """Raises: Denied, in this protocol's words."""

    def whole(self, ask: Ask, said: SimulatedReply, stamp: Stamp) -> bytes: ...

    def pieces(self, ask: Ask, said: SimulatedReply, stamp: Stamp) -> list[bytes]:
        """The same reply as a stream, in the pieces that are sent one after the other."""

    def busy(self, retry_after_s: float) -> Denied: ...

    def broken(self) -> Denied: ...

    def overloaded(self) -> Denied: ...

    def forbidden(self) -> Denied: ...

    def exhausted(self, quota: int) -> Denied:
        """The quota of the day is used up."""

    def cut_off(self) -> bytes:
        """The error that ends a stream in the middle, after the status 200 was sent."""


@dataclass(frozen=True, slots=True)
class JsonBody:
    """A JSON object from outside, read with types. Each reader raises ValueError naming the field."""

    fields: dict[str, Any]
    within: str = field(default="")

    def text(self, name: str) -> str:
        value = self.fields.get(name)
        if not isinstance(value, str) or not value:
            raise ValueError(f"{self.within}{name} is required and must be a string")
        return value

    def flag(self, name: str, default: bool) -> bool:
        value = self.fields.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise ValueError(f"{self.within}{name} must be true or false")
        return value

    def count(self, name: str) -> int | None:
        value = self.fields.get(name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise ValueError(f"{self.within}{name} must be a whole number")
        return value

    def inner(self, name: str) -> JsonBody:
        value = self.fields.get(name)
        if value is not None and not isinstance(value, dict):
            raise ValueError(f"{self.within}{name} must be an object")
        return JsonBody(value or {}, f"{self.within}{name}.")

    def ranked(self, name: str) -> int | None:
        """A whole number of at most MOST_RANKED."""
        value = self.count(name)
        if value is not None and not 0 <= value <= MOST_RANKED:
            raise ValueError(f"{self.within}{name} must be between 0 and {MOST_RANKED}")
        return value

    def only(self, known: frozenset[str]) -> str | None:
        """The first field that is not known."""
        return next((name for name in self.fields if name not in known), None)

    def messages(self) -> tuple[tuple[str, str], ...]:
        value = self.fields.get("messages")
        if not isinstance(value, list):
            raise ValueError("messages is required and must be a list")
        return tuple(read_message(entry, number) for number, entry in enumerate(value))


def read_body(body: bytes) -> JsonBody:
    """Raises: ValueError when this is not a JSON object."""
    try:
        fields = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"the body is not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise ValueError("the body must be a JSON object")
    return JsonBody(fields)


def read_message(entry: Any, number: int) -> tuple[str, str]:
    """(role, text). Raises: ValueError."""
    if not isinstance(entry, dict) or not isinstance(entry.get("role"), str):
        raise ValueError(f"messages[{number}] must be an object with a role")
    content = entry.get("content")
    if isinstance(content, str):
        return entry["role"], content
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        return entry["role"], "".join(str(part.get("text", "")) for part in content)
    if content is None:  # as in a turn that only calls tools
        return entry["role"], ""
    raise ValueError(f"messages[{number}].content must be a string or a list of parts")


def read_form(schema: Any) -> SchemaForm:
    """The form that a JSON schema describes. Raises: ValueError when it describes no object with a key."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or not properties:
        raise ValueError("the schema must be an object with properties")
    key, value = next(iter(properties.items()))
    options = value.get("enum") if isinstance(value, dict) else None
    return SchemaForm(key, tuple(str(option) for option in options or ()))


def count_input(messages: tuple[tuple[str, str], ...]) -> int:
    """Prompt tokens, by the rule of thumb of four characters each."""
    return sum(len(content) for _, content in messages) // 4


def split(text: str) -> list[str]:
    """The text in pieces of a word each, for a stream; joined they are the text again."""
    return _PIECE.findall(text)
