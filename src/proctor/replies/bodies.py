"""The bodies that servers answer with, as replies: chats, completions, responses, embeddings, Anthropic's messages."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from proctor.replies.finish import UNSAID, as_it_looks
from proctor.types import Reply

# Why a model ended, in the words of the protocols whose replies are kept in files. A reason that is not
# here, or none, is unknown.
FINISH = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "eos": "stop",
    "tool_use": "tools",
    "tool_calls": "tools",
    "function_call": "tools",
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "content_filter": "refused",
    "refusal": "refused",
    "refused": "refused",
}
Spent = tuple[int | None, int | None, int | None]  # tokens in, out, and of these of reasoning


class BadBody(ValueError):
    """What a body lacks or has wrong, in words."""


def replies_of(body: Mapping[str, Any]) -> tuple[Reply, ...]:
    """What a body says, a reply for each choice. Raises: BadBody.

    >>> replies_of({"choices": [{"message": {"content": "B"}, "finish_reason": "stop"}]})[0].text
    'B'
    """
    usage = body.get("usage") or {}
    if not isinstance(usage, dict):
        raise BadBody("response.body.usage is no object")
    if isinstance(body.get("choices"), list):
        return of_choices(body["choices"], usage)
    if isinstance(body.get("output"), list):
        return (of_response(body, usage),)
    if isinstance(body.get("content"), list):
        return (of_message(body, usage),)
    if isinstance(body.get("data"), list):
        return (reply("", "stop", None, spent_on(usage)),)
    raise BadBody("no choices[].message.content in the response")


def reply(text: str, finish: str, reasoning: str | None, spent: Spent) -> Reply:
    return Reply(
        text,
        reasoning=reasoning,
        finish=as_it_looks(text) if finish == UNSAID else finish,
        input_tokens=spent[0],
        output_tokens=spent[1],
        reasoning_tokens=spent[2],
    )


def finish_of(reason: object) -> str:
    return FINISH.get(reason.lower(), UNSAID) if isinstance(reason, str) else UNSAID


def spent_on(usage: Mapping[str, Any]) -> Spent:
    """Tokens in, out, and of these of reasoning, under the names of OpenAI's, of Anthropic's and of our own."""
    details = usage.get("completion_tokens_details") or usage.get("output_tokens_details")
    inside = details if isinstance(details, dict) else usage
    return (
        count(usage, "prompt_tokens", "input_tokens"),
        count(usage, "completion_tokens", "output_tokens"),
        count(inside, "reasoning_tokens"),
    )


def count(usage: Mapping[str, Any], *names: str) -> int | None:
    name = next((name for name in names if usage.get(name) is not None), None)
    if name is None:
        return None
    value = usage[name]
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadBody(f"{name} is a whole number of tokens, not {str(value)[:40]!r}")
    return value


def text_or_none(record: Mapping[str, Any], *names: str) -> str | None:
    value = next((record[name] for name in names if record.get(name) is not None), None)
    if value is not None and not isinstance(value, str):
        raise BadBody(f"{' or '.join(names)} is text")
    return value


# One shape each -----------------------------------------------------------------------------------


def of_choices(choices: Sequence[Any], usage: Mapping[str, Any]) -> tuple[Reply, ...]:
    """Chat completions, and completions with their plain texts."""
    if not all(isinstance(choice, dict) for choice in choices):
        raise BadBody("no choices[].message.content in the response")
    return tuple(of_choice(choice, usage, len(choices)) for choice in choices)


def of_choice(choice: Mapping[str, Any], usage: Mapping[str, Any], choices: int) -> Reply:
    """One of several choices has no count of its own: `usage` is of them all."""
    message = choice.get("message", {"content": choice["text"]} if "text" in choice else None)
    if not isinstance(message, dict):
        raise BadBody("no choices[].message.content in the response")
    refusal = text_or_none(message, "refusal")
    taken, given, thought = spent_on(usage)
    said = reply(
        content_of(message.get("content")) or refusal or "",
        "refused" if refusal else finish_of(choice.get("finish_reason")),
        text_or_none(message, "reasoning_content", "reasoning"),
        (taken, given, thought) if choices == 1 else (taken, None, None),
    )
    return with_calls(said, calls_in_message(message))


def content_of(content: object) -> str:
    """The text of a message: a string, or the text parts of a list."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        parts = [part.get("text") for part in content if part.get("type", "text") in ("text", "output_text")]
        if all(isinstance(part, str) for part in parts):
            return "".join(map(str, parts))
    raise BadBody("choices[].message.content is neither text nor a list of parts with text")


def of_response(body: Mapping[str, Any], usage: Mapping[str, Any]) -> Reply:
    """A response of /v1/responses: its messages' texts; a refusal stands among their parts."""
    items = [item for item in body["output"] if isinstance(item, dict)]
    parts = [part for item in items if item.get("type") == "message" for part in parts_of(item, "content")]
    refusal = "".join(str(part.get("refusal", "")) for part in parts if part.get("type") == "refusal")
    cut = body.get("incomplete_details")
    reason = (
        cut.get("reason") if isinstance(cut, dict) else "stop" if body.get("status") == "completed" else None
    )
    thoughts = [
        str(part.get("text", ""))
        for item in items
        if item.get("type") == "reasoning"
        for part in parts_of(item, "summary")
    ]
    said = reply(
        content_of([part for part in parts if part.get("type") != "refusal"]) or refusal,
        "refused" if refusal else finish_of(reason),
        "\n".join(thoughts) or None,
        spent_on(usage),
    )
    return with_calls(said, calls_in_blocks(items))


def parts_of(item: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The objects of a list; none where there is no list."""
    parts = item.get(name)
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def of_message(body: Mapping[str, Any], usage: Mapping[str, Any]) -> Reply:
    """A message of Anthropic's: blocks of text, and of thinking before them."""
    blocks = [block for block in body["content"] if isinstance(block, dict)]
    thoughts = [str(block.get("thinking", "")) for block in blocks if block.get("type") == "thinking"]
    said = reply(
        content_of([block for block in blocks if block.get("type") == "text"]),
        finish_of(body.get("stop_reason")),
        "\n".join(thoughts) or None,
        spent_on(usage),
    )
    return with_calls(said, calls_in_blocks(blocks))


# What is no text ----------------------------------------------------------------------------------


def with_calls(reply: Reply, calls: Iterable[str]) -> Reply:
    """The reply with the calls of tools that it makes, a line each after its text."""
    said = "\n".join(calls)
    if not said:
        return reply
    finish = "tools" if reply.finish in ("stop", UNSAID) else reply.finish
    return replace(reply, text=f"{reply.text}\n{said}" if reply.text else said, finish=finish)


def calls_in_message(message: Mapping[str, Any]) -> Iterator[str]:
    """The tools that a chat's message calls, with their arguments as the model wrote them."""
    for call in [*(message.get("tool_calls") or []), {"function": message.get("function_call")}]:
        made = call.get("custom" if "custom" in call else "function") if isinstance(call, dict) else None
        if isinstance(made, dict):
            yield call_words(made.get("name"), made.get("arguments", made.get("input")))


def calls_in_blocks(blocks: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Those of a response's items, and of the blocks of Anthropic's messages."""
    for block in blocks:
        if block.get("type") in ("function_call", "custom_tool_call", "tool_use"):
            yield call_words(block.get("name"), block.get("arguments", block.get("input")))


def call_words(name: object, arguments: object) -> str:
    said = (
        arguments
        if isinstance(arguments, str)
        else ""
        if arguments is None
        else orjson.dumps(arguments).decode()
    )
    return f"{name or ''}({said})"


def embeddings_in(body: Mapping[str, Any]) -> str:
    """Embeddings by a digest of them, so that they can be told apart; "" for other bodies.

    >>> embeddings_in({"data": [{"embedding": [0.5, 0.25]}]})
    '1 embedding of 2 numbers, SHA-256 e9ec18fb5e7c'
    """
    data = body.get("data")
    vectors = (
        [each.get("embedding") for each in data if isinstance(each, dict)] if isinstance(data, list) else []
    )
    if not vectors or vectors[0] is None:
        return ""
    width = len(vectors[0]) if isinstance(vectors[0], list) else 0
    digest = hashlib.sha256(orjson.dumps(vectors)).hexdigest()[:12]
    return (
        f"{len(vectors)} embedding{'' if len(vectors) == 1 else 's'} of {width:,} numbers, SHA-256 {digest}"
    )
