"""OpenAI's wire shape: POST /v1/chat/completions and GET /v1/models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import orjson

from proctor.simulator.protocols.ranges import MOST_REPLIES, complaint, outside
from proctor.simulator.protocols.scripts import scripted
from proctor.simulator.protocols.tools import called
from proctor.simulator.protocols.wire import (
    CALL_LETTERS,
    Ask,
    Call,
    Denied,
    JsonBody,
    Known,
    Paced,
    SchemaForm,
    ServerTerms,
    SimulatedReply,
    Stamp,
    Token,
    count_input,
    read_body,
    read_form,
    split,
)

STREAM_TYPE = "text/event-stream"
DONE = b"data: [DONE]\n\n"
# A model list is the same on every day of the simulator's life.
RELEASED = 1_767_225_600

FINISH = {"stop": "stop", "length": "length", "refused": "content_filter", "blocked": "content_filter"}
_RARE = frozenset({
    "response_format", "logprobs", "top_logprobs", "reasoning_effort", "chat_template_kwargs", "n", "tools",
})  # fmt: skip
_INSTEAD = {"max_tokens": " Use 'max_completion_tokens' instead."}


def read(body: bytes, terms: ServerTerms, known: Known) -> Ask:
    """Understand a request, or raise Denied with OpenAI's status and code."""
    return understood(body, terms, known, parse)


def understood(body: bytes, terms: ServerTerms, known: Known, read_fields: Callable[[JsonBody], Ask]) -> Ask:
    """A request to one of OpenAI's endpoints, whose own fields `read_fields` reads. Raises: Denied."""
    try:
        fields = read_body(body)
        if wrong := outside(fields):
            raise out_of_range(wrong, fields.fields[wrong])
        ask = read_fields(fields)
        if terms.script:
            ask = replace(ask, scripted=scripted(terms.script, fields))
    except ValueError as error:
        raise bad_request(str(error)) from None
    if ask.name not in known:
        raise unknown(ask.model)
    for name in sorted(terms.reject):
        if fields.fields.get(name) is not None:
            raise _unsupported(name)
    if terms.decline and any(terms.decline in content for _, content in ask.messages):
        raise deny(400, "Invalid prompt: it holds what this model does not take.", code="invalid_prompt")
    if ask.input_tokens > terms.context_tokens:
        raise too_long(ask.input_tokens, terms.context_tokens)
    return ask


def parse(fields: JsonBody) -> Ask:
    """Raises: ValueError naming the field."""
    model, messages = fields.text("model"), fields.messages()
    if not messages:
        raise ValueError("messages must hold at least one message")
    # The older name wins nothing: who sends both means the newer.
    limits = [fields.count("max_completion_tokens"), fields.count("max_tokens")]
    limit = next((value for value in limits if value is not None), None)
    if limit is not None and limit < 1:
        raise ValueError(f"the token limit is {limit}; it must be 1 or more")
    ask = Ask(
        model=model,
        name=model,
        messages=messages,
        stream=fields.flag("stream", default=False),
        input_tokens=count_input(messages),
        limit=limit,
        usage=fields.inner("stream_options").flag("include_usage", default=False),
        drawn=fields.fields.get("temperature") not in (None, 0),
    )
    # Most requests have none of these, and their time counts.
    if _RARE.isdisjoint(fields.fields):
        return ask
    return replace(
        ask,
        form=_form(fields),
        ranked=_ranked(fields),
        think=_thinks(fields),
        n=_replies(fields),
        call=called(fields),
    )


def _replies(fields: JsonBody) -> int:
    n = fields.count("n") or 1
    if not 1 <= n <= MOST_REPLIES:
        raise ValueError(f"n is {n}; it must be from 1 to {MOST_REPLIES}")
    return n


def _thinks(fields: JsonBody) -> bool:
    if fields.fields.get("reasoning_effort") == "none":
        return False
    # The word of vLLM's chat templates.
    return fields.inner("chat_template_kwargs").flag("enable_thinking", default=True)


def _ranked(fields: JsonBody) -> int | None:
    top = fields.ranked("top_logprobs")
    if fields.flag("logprobs", default=False):
        return top or 0
    if top is not None:
        raise ValueError("'top_logprobs' is only allowed when 'logprobs' is enabled.")
    return None


def _form(fields: JsonBody) -> SchemaForm | None:
    wanted = fields.inner("response_format")
    if not wanted.fields or wanted.text("type") == "text":
        return None
    if wanted.text("type") != "json_schema":
        return SchemaForm("answer", ())
    described = wanted.inner("json_schema")
    described.text("name")
    schema = described.inner("schema").fields
    if described.flag("strict", default=False) and schema.get("additionalProperties") is not False:
        raise ValueError("'additionalProperties' is required to be supplied and to be false.")
    return read_form(schema)


def whole(ask: Ask, said: SimulatedReply, stamp: Stamp) -> bytes:
    """The reply in one piece."""
    return orjson.dumps(reply(ask, said, stamp))


def reply(ask: Ask, said: SimulatedReply, stamp: Stamp) -> dict[str, Any]:
    """The reply before it becomes bytes."""
    whole_reply = _frame(ask, stamp, "chat.completion")
    whole_reply["choices"] = [_choice(ask, one, index) for index, one in enumerate(said.all)]
    whole_reply["usage"] = usage(ask, said)
    return whole_reply


def _choice(ask: Ask, said: SimulatedReply, index: int) -> dict[str, Any]:
    refused = _refused(said)
    message: dict[str, Any] = {
        "role": "assistant",
        "content": None if refused else said.text,
        "refusal": said.text if refused else None,
    }
    if said.reasoning:
        message["reasoning_content"] = said.reasoning
    if said.call is not None:
        message |= {"content": said.text or None, "tool_calls": [_called(ask, said.call, index)]}
    logprobs = _logprobs(said, said.tokens) if ask.ranked is not None else None
    return {"index": index, "message": message, "logprobs": logprobs, "finish_reason": _finish(said)}


def _finish(said: SimulatedReply) -> str:
    return "tool_calls" if said.call is not None else FINISH[said.finish]


def _called(ask: Ask, call: Call, index: int) -> dict[str, Any]:
    told = {"name": call.name, "arguments": call.arguments}
    turn = f"_{ask.scripted.turn}" if ask.scripted else ""  # a conversation has no two calls of one id
    return {"id": f"call_sim{index}{turn}", "type": "function", "function": told}


def _refused(said: SimulatedReply) -> bool:
    return said.finish in ("refused", "blocked")


def _logprobs(said: SimulatedReply, tokens: Iterable[Token]) -> dict[str, Any]:
    """Those of a refusal stand apart, as its text does."""
    told = told_tokens(tokens)
    return {"content": None, "refusal": told} if _refused(said) else {"content": told, "refusal": None}


def told_tokens(tokens: Iterable[Token]) -> list[dict[str, Any]]:
    """Every token with its log-probability, and the likeliest at its place."""
    return [
        {**_told(token.text, token.logprob), "top_logprobs": [_told(*other) for other in token.top]}
        for token in tokens
    ]


def _told(token: str, logprob: float) -> dict[str, Any]:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode("utf-8", "surrogatepass"))}


def pieces(ask: Ask, said: SimulatedReply, stamp: Stamp) -> list[bytes]:
    """The reply as server-sent events; the last piece also carries [DONE]."""
    events = [_piece(chunk) for chunk in chunks(ask, said, stamp)]
    return [*events[:-1], events[-1] + DONE]


def _piece(chunk: dict[str, Any]) -> bytes:
    said = any(v for each in chunk["choices"] for k, v in each["delta"].items() if k != "role")
    return Paced(event(chunk)) if said else event(chunk)


def event(told: Mapping[str, Any]) -> bytes:
    """A server-sent event."""
    return b"data: " + orjson.dumps(told) + b"\n\n"


def chunks(ask: Ask, said: SimulatedReply, stamp: Stamp) -> Iterator[dict[str, Any]]:
    """The pieces of a stream before they become bytes."""
    frame = _frame(ask, stamp, "chat.completion.chunk")
    if ask.usage:
        frame["usage"] = None  # as OpenAI: null everywhere but in the last chunk
    for index, one in enumerate(said.all):
        for choice in _deltas(ask, one, index):
            yield {**frame, "choices": [choice]}
    if ask.usage:
        yield {**frame, "choices": [], "usage": usage(ask, said)}


def _deltas(ask: Ask, said: SimulatedReply, index: int) -> Iterator[dict[str, Any]]:
    """One reply piece by piece: its role, its thoughts, its words or, where they are ranked, its tokens, its end."""
    part = "refusal" if _refused(said) else "content"
    words: Iterable[tuple[str, Any]] = ((word, None) for word in split(said.text))
    if ask.ranked is not None:
        words = ((token.text, _logprobs(said, [token])) for token in said.tokens)
    choice = {"index": index, "logprobs": None, "finish_reason": None}
    yield {**choice, "delta": {"role": "assistant", "content": "", "refusal": None}}
    for word in split(said.reasoning):
        yield {**choice, "delta": {"reasoning_content": word}}
    for text, logprobs in words:
        yield {**choice, "delta": {part: text}, "logprobs": logprobs}
    for delta in _call_deltas(ask, said.call, index):
        yield {**choice, "delta": {"tool_calls": [delta]}}
    yield {**choice, "delta": {}, "finish_reason": _finish(said)}


def _call_deltas(ask: Ask, call: Call | None, index: int) -> Iterator[dict[str, Any]]:
    """A call in pieces: its name first, then its arguments a few letters at a time."""
    if call is None:
        return
    yield {"index": 0, **_called(ask, replace(call, arguments=""), index)}
    for at in range(0, len(call.arguments), CALL_LETTERS):
        yield {"index": 0, "function": {"arguments": call.arguments[at : at + CALL_LETTERS]}}


def _frame(ask: Ask, stamp: Stamp, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-sim{stamp.number}",
        "object": kind,
        "created": int(stamp.at),
        "model": ask.model,
        "system_fingerprint": "fp_simulator",
    }


def usage(ask: Ask, said: SimulatedReply) -> dict[str, Any]:
    """The prompt once, and the output of all replies."""
    output_tokens = sum(one.output_tokens for one in said.all)
    return {
        "prompt_tokens": ask.input_tokens,
        "completion_tokens": output_tokens,
        "total_tokens": ask.input_tokens + output_tokens,
        "completion_tokens_details": {"reasoning_tokens": sum(one.reasoning_tokens for one in said.all)},
    }


def deny(
    status: int,
    message: str,
    *,
    kind: str = "invalid_request_error",
    param: str | None = None,
    code: str | None = None,
    retry_after_s: float | None = None,
) -> Denied:
    """An error as OpenAI writes it."""
    headers = {} if retry_after_s is None else {"Retry-After": f"{retry_after_s:g}"}
    error = {"message": message, "type": kind, "param": param, "code": code}
    return Denied(status, {"error": error}, headers)


def bad_request(message: str) -> Denied:
    return deny(400, message)


def busy(retry_after_s: float) -> Denied:
    message = f"Rate limit reached for requests. Please try again in {retry_after_s:g}s."
    return deny(429, message, kind="requests", code="rate_limit_exceeded", retry_after_s=retry_after_s)


def broken() -> Denied:
    return deny(500, "The server had an error while processing your request.", kind="server_error")


def overloaded() -> Denied:
    return deny(503, "The engine is currently overloaded, please try again later.", kind="server_error")


def forbidden() -> Denied:
    return deny(403, "You are not allowed to sample from this model.")


def exhausted(quota: int) -> Denied:
    message = "You exceeded your current quota, please check your plan and billing details."
    return deny(429, message, kind="insufficient_quota", code="insufficient_quota")


def cut_off() -> bytes:
    return b"data: " + broken().body + b"\n\n"


def wrong_key(given: str | None) -> Denied:
    """401 for no key or another one; the key that was given is quoted with its middle hidden."""
    if not given:
        return deny(401, "You didn't provide an API key. Send it as 'Authorization: Bearer KEY'.")
    masked = given[:3] + "*" * 8 + given[-4:] if len(given) > 11 else "*" * 8
    return deny(401, f"Incorrect API key provided: {masked}.", code="invalid_api_key")


def unknown(model: str) -> Denied:
    message = f"The model '{model}' does not exist or you do not have access to it."
    return deny(404, message, code="model_not_found")


def too_long(input_tokens: int, context_tokens: int) -> Denied:
    message = (
        f"This model's maximum context length is {context_tokens} tokens. However, your messages resulted in "
        f"{input_tokens} tokens. Please reduce the length of the messages."
    )
    return deny(400, message, param="messages", code="context_length_exceeded")


def out_of_range(name: str, value: Any) -> Denied:
    message, code = complaint(name, value)
    return deny(400, message, param=name, code=code)


def _unsupported(name: str) -> Denied:
    message = f"Unsupported parameter: '{name}' is not supported with this model.{_INSTEAD.get(name, '')}"
    return deny(400, message, param=name, code="unsupported_parameter")


def models(known: Known) -> bytes:
    """What GET /v1/models answers."""
    return orjson.dumps({"object": "list", "data": [entry(name) for name in known]})


def model(name: str, known: Known) -> bytes:
    """What GET /v1/models/NAME answers. Raises: Denied."""
    if name not in known:
        raise deny(404, f"The model '{name}' does not exist", param="model", code="model_not_found")
    return orjson.dumps(entry(name))


def entry(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": RELEASED, "owned_by": "simulator"}
