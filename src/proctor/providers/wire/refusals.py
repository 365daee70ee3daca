"""From an HTTP status to a typed error, with a text that names the address, the variable or the model."""

from __future__ import annotations

import re
from dataclasses import dataclass

import orjson

from proctor.errors import (
    AuthError,
    BadReply,
    BadRequest,
    ContextOverflow,
    EndpointNotFound,
    ModelNotFound,
    Overloaded,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    RequestTimeout,
    ServerError,
)
from proctor.grading.patterns import later
from proctor.providers.wire.delays import retry_after_s
from proctor.providers.wire.http import HttpResponse
from proctor.providers.wire.quotas import is_google, used_up

QUOTED_CHARACTERS = 300

_CONTEXT = later(
    r"context[ _](length|window|size|limit)|maximum context|too many tokens|prompt is too long"
    r"|token count \(?\d*\)? ?exceeds|maximum prompt length",
    re.I,
)
_MODEL = later(r"model", re.I)
_QUOTA = later(r"insufficient_quota|exceeded your current quota|billing", re.I)
# Google and xAI answer 400 to a wrong key; Anthropic and xAI answer 400 and 403 to an empty account.
_KEY = later(r"api[ _]key (not valid|expired|not found)|API_KEY_INVALID|incorrect api key", re.I)
_CREDIT = later(r"credit balance is too low|used all available credits|spending limit", re.I)
# llama.cpp's server says "Loading model"; servers in front of others say which model they load.
_LOADING = later(r"loading model|model\b.{0,80}\bis (currently |still )?(being )?load(ing|ed)", re.I)
# LiteLLM answers 500 "... Connection error.", Envoy 503 "no healthy upstream" or "upstream connect error".
_UNREACHED = later(
    r"\bconnection error\b|no healthy upstream|upstream connect error|connection refused", re.I
)

_BY_STATUS: dict[int, type[ProviderError]] = {
    401: AuthError,
    403: AuthError,
    402: QuotaExhausted,
    404: EndpointNotFound,
    405: EndpointNotFound,
    408: RequestTimeout,
    503: Overloaded,
    529: Overloaded,
}


@dataclass(frozen=True, slots=True)
class Place:
    """What a message about a server names."""

    provider: str
    address: str
    model: str
    key_variable: str | None = None  # where the key comes from
    address_variable: str | None = None

    @property
    def words(self) -> str:
        return f"{self.provider} at {self.address}"


def refusal(answer: HttpResponse, place: Place) -> ProviderError:
    """The error that an answer with a status other than 200 means."""
    text = answer.body.decode("utf-8", "replace")
    said = server_words(answer.body)
    kind = _kind(answer.status, text)
    hint = _quota_hint(text) if kind is QuotaExhausted else _hint(kind, place)
    said = said.rstrip(".") if hint else said  # the hint begins with a full stop
    message = f"{place.words} answered {answer.status}: {said}{hint}"
    return kind(
        message,
        retry_after_s=retry_after_s(answer.headers, text),
        status=answer.status,
        away=answer.status == 503 and _LOADING.search(said) is not None,
        unreached=answer.status in (502, 504)
        or (answer.status in (500, 503) and _UNREACHED.search(said) is not None),
    )


def bad_reply(answer: HttpResponse, place: Place, wanted: str) -> BadReply:
    """200, but not the protocol's shape."""
    beginning = answer.body[:QUOTED_CHARACTERS].decode("utf-8", "replace").strip() or "(nothing)"
    return BadReply(f"{place.words}: no {wanted} in the reply, which begins: {beginning}")


def server_words(body: bytes) -> str:
    """The beginning of the server's own message."""
    text = full_words(body)
    return (text[:QUOTED_CHARACTERS] + "...") if len(text) > QUOTED_CHARACTERS else text


def full_words(body: bytes) -> str:
    """The server's own message, from `{"error": {"message": ...}}`, `{"error": ...}` or the bare text."""
    try:
        record = orjson.loads(body)
    except orjson.JSONDecodeError:
        record = None
    if isinstance(record, list) and record:
        record = record[0]
    error = (
        record.get("error", record.get("detail", record.get("message"))) if isinstance(record, dict) else None
    )
    if isinstance(error, dict):
        error = error.get("message") or error
    if isinstance(error, str) and error.startswith("{"):
        return full_words(error.encode())  # a server behind the server, quoted as it answered
    text = str(error) if error is not None else body.decode("utf-8", "replace")
    return " ".join(text.split()) or "(no text)"


def _kind(status: int, text: str) -> type[ProviderError]:
    if status == 429:
        gone = used_up(text) if is_google(text) else _QUOTA.search(text) or _CREDIT.search(text)
        return QuotaExhausted if gone else RateLimited
    if status in (400, 403) and _CREDIT.search(text):
        return QuotaExhausted
    if status == 400 and _KEY.search(text):
        return AuthError
    if status == 404 and _MODEL.search(text):
        return ModelNotFound
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if _CONTEXT.search(text):  # older llama.cpp and gateways say it with a 500
        return ContextOverflow
    return BadRequest if 400 <= status < 500 else ServerError


def _quota_hint(text: str) -> str:
    gone = used_up(text) if is_google(text) else ()
    return f". Used up: {', '.join(gone)}. Resume the run when it has been renewed" if gone else ""


def _hint(kind: type[ProviderError], place: Place) -> str:
    if kind is AuthError and place.key_variable:
        return f". Set {place.key_variable} to a valid key"
    if kind is ModelNotFound:
        return f". It was asked for the model {place.model!r}; `proctor models {place.provider}` lists what there is"
    if kind is EndpointNotFound and place.address_variable:
        return f". Is this the right address? {place.address_variable} or --base-url sets it"
    return ""
