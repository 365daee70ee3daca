"""What the replies of OpenAI's endpoints say, each in its own shape: text, end, tokens, cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from proctor.errors import ProviderError, RateLimited, ServerError
from proctor.providers.protocols.completions import FINISH, Bill, completion, shapeless
from proctor.providers.wire.http import HttpResponse
from proctor.providers.wire.refusals import Place, bad_reply, server_words
from proctor.providers.wire.wire_types import JsonTable, table_of
from proctor.replies.bodies import with_calls
from proctor.replies.finish import UNSAID
from proctor.types import Reply, Usage

Used = tuple[Usage, int | None]  # with the reasoning tokens among those put out
Shape = Callable[[HttpResponse, Place, Bill], Reply]
CHAT, COMPLETIONS, RESPONSES = "/v1/chat/completions", "/v1/completions", "/v1/responses"
_INCOMPLETE = {"max_output_tokens": "length", "content_filter": "refused"}


def chat(answer: HttpResponse, place: Place, bill: Bill) -> Reply:
    reply, record = completion(answer, place, bill)
    return replace(reply, request_id=record.told(record.text, "id"))


def completions(answer: HttpResponse, place: Place, bill: Bill) -> Reply:
    """A text that goes on: the first, where several were asked for."""
    record = table_of(answer, place, "choices[0].text")
    choice = next(iter(record.tables("choices")), None)
    if choice is None or choice.fields.get("text") is None:
        raise shapeless(answer, place, record, choice, "choices[0].text")
    finish = FINISH.get(choice.text("finish_reason") or "", "stop")
    return _reply(answer, record, choice.text("text") or "", finish, bill.of(record.table("usage")))


def responses(answer: HttpResponse, place: Place, bill: Bill) -> Reply:
    """A response: the texts of all messages in its output, then the calls that it makes."""
    record = table_of(answer, place, "output")
    status = record.text("status")
    if status == "failed" or (record.fields.get("output") is None and record.fields.get("error") is not None):
        raise _failed(answer, place, record)
    if record.fields.get("output") is None:
        raise bad_reply(answer, place, "output")
    output = record.tables("output")
    said = [part for item in output if item.text("type") == "message" for part in item.tables("content")]
    text = "".join(part.text("text") or "" for part in said)
    refused = "".join(part.text("refusal") or "" for part in said)
    finish = "stop" if status in ("completed", None) else UNSAID
    if status == "incomplete":
        finish = _INCOMPLETE.get(record.table("incomplete_details").text("reason") or "", UNSAID)
    finish = "refused" if refused else finish
    reply = _reply(answer, record, text or refused, finish, _used(record.table("usage"), bill))
    return with_calls(replace(reply, reasoning=_thoughts(output)), _calls(output))


def _failed(answer: HttpResponse, place: Place, record: JsonTable) -> ProviderError:
    """A response that came to nothing, although the server answered 200."""
    kind = RateLimited if record.table("error").text("code") == "rate_limit_exceeded" else ServerError
    return kind(
        f"{place.words} answered that the response failed: {server_words(answer.body)}", status=answer.status
    )


def _thoughts(output: tuple[JsonTable, ...]) -> str | None:
    """The reasoning that is shown: itself, or its summary."""
    thought = [item for item in output if item.text("type") == "reasoning"]
    parts = [part for item in thought for name in ("summary", "content") for part in item.tables(name)]
    return "\n".join(part.text("text") or "" for part in parts) or None


def _calls(output: tuple[JsonTable, ...]) -> Iterator[str]:
    for item in output:
        if item.text("type") == "function_call":
            yield f"{item.text('name') or ''}({item.text('arguments') or ''})"
        elif item.text("type") == "custom_tool_call":
            yield f"{item.text('name') or ''}({item.text('input') or ''})"


def _used(usage: JsonTable, bill: Bill) -> Used:
    """Tokens by the names that responses have for them, and the reasoning tokens among them."""
    told = {"prompt_tokens": usage.count("input_tokens"), "completion_tokens": usage.count("output_tokens")}
    cost = bill.cost_usd(replace(usage, fields={**usage.fields, **told}), told["completion_tokens"])
    thought = usage.table("output_tokens_details").count("reasoning_tokens")
    return Usage(told["prompt_tokens"], told["completion_tokens"], cost), thought


def embeddings(answer: HttpResponse, place: Place, bill: Bill) -> Reply:
    """Vectors: they stand in `raw` alone."""
    record = table_of(answer, place, "data")
    if record.fields.get("data") is None:
        raise shapeless(answer, place, record, None, "data")
    usage = record.table("usage")
    used = Usage(usage.count("prompt_tokens"), None, bill.cost_usd(usage, 0))
    return _reply(answer, record, "", UNSAID, (used, None))


def whatever(answer: HttpResponse, place: Place, bill: Bill) -> Reply:
    """A reply in a shape that is not known here: kept as it is."""
    return Reply("", finish=UNSAID, latency_s=answer.elapsed_s, raw=answer.body)


def _reply(answer: HttpResponse, record: JsonTable, text: str, finish: str, used: Used) -> Reply:
    tokens, thought = used
    return Reply(
        text=text,
        finish=finish,
        input_tokens=tokens.input_tokens,
        output_tokens=tokens.output_tokens,
        reasoning_tokens=thought,
        latency_s=answer.elapsed_s,
        cost_usd=tokens.cost_usd,
        raw=answer.body,
        request_id=record.told(record.text, "id"),
    )


ENDPOINTS: Mapping[str, Shape] = {
    CHAT: chat,
    COMPLETIONS: completions,
    RESPONSES: responses,
    "/v1/embeddings": embeddings,
}


def shape_of(path: str) -> Shape:
    """How the replies of an endpoint are read; of one that is not known, its words alone are kept."""
    return ENDPOINTS.get(path, whatever)
