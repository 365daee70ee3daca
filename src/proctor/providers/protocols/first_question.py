"""The smallest question there is: it decides whether a model that no list names is there."""

from __future__ import annotations

import re
from collections.abc import Mapping

import orjson

from proctor.errors import BadRequest, ModelNotFound, ProviderError, RateLimited
from proctor.providers.protocols.listing import ServerListing
from proctor.providers.protocols.parameters import refused
from proctor.providers.wire.http import Http, HttpResponse
from proctor.providers.wire.refusals import Place, bad_reply, full_words, refusal
from proctor.providers.wire.wire_types import table_of

QUESTION = "Hi"
_MODEL = re.compile(r"\bmodel", re.I)


async def first_question(http: Http, place: Place, headers: Mapping[str, str], listed: ServerListing) -> str:
    """Ask the model one word's worth; what the list said and that it answered all the same, as a remark.

    Raises ModelNotFound if the server has no such model, or answers as another that it lists; what else the server
    refused it with.
    """
    body = {
        "model": place.model,
        "messages": [{"role": "user", "content": QUESTION}],
        "max_tokens": 1,
    }
    sent = {"Content-Type": "application/json", **headers}
    try:
        answer = await http.post(f"{place.address}/chat/completions", sent, orjson.dumps(body))
    except ProviderError as lost:
        raise _with_list(lost, listed) from lost
    if answer.status == 200:
        _need_this_one(answer, place, listed)
        return f"the server {listed.words}; the first question to {place.model} was answered all the same"
    if _unknown(answer, place):
        raise _no_such_model(
            place, listed, f"It refuses the name: {full_words(answer.body)[:300]}", answer.status
        )
    error = refusal(answer, place)
    # It is there and will not take this one question: whether it takes the items is theirs to find out.
    if isinstance(error, RateLimited | BadRequest):
        return f"the server {listed.words}, and refused a first question of 1 token: {full_words(answer.body)[:150]}"
    raise _with_list(error, listed)


def _need_this_one(answer: HttpResponse, place: Place, listed: ServerListing) -> None:
    """Raises ModelNotFound where another model of the list answered: its results would stand under a wrong name."""
    record = table_of(answer, place, "choices")
    if not record.tables("choices"):
        raise bad_reply(answer, place, "choices")
    named = record.told(record.text, "model")
    if named and listed.row(named) is not None:
        raise _no_such_model(place, listed, f"It answers to any name, and answered as {named!r}")


def _unknown(answer: HttpResponse, place: Place) -> bool:
    """True for a refusal of the model's name, and not of the limit."""
    if answer.status not in (400, 404, 422) or refused(answer.body, ["max_tokens"]):
        return False
    words = full_words(answer.body)
    return bool(_MODEL.search(words)) or place.model in words


def _no_such_model(place: Place, listed: ServerListing, why: str, status: int | None = None) -> ModelNotFound:
    return ModelNotFound(
        f"{place.words} does not offer the model {place.model!r}. It {listed.words}. {why}", status=status
    )


def _with_list(error: ProviderError, listed: ServerListing) -> ProviderError:
    """The same error, with what the list said."""
    said = f"{str(error).rstrip('.')}. The server {listed.words}, so it was asked a first question"
    return type(error)(
        said,
        retry_after_s=error.retry_after_s,
        status=error.status,
        usage=error.usage,
        away=error.away,
        unreached=error.unreached,
    )
