"""Requests and replies as examples to train a model on, in the conversational shapes of TRL.

Language modelling is {"messages"}, preference is {"prompt", "chosen", "rejected"}, unpaired preference is {"prompt",
"completion", "label"}, each with "tools" beside where the request had some (TRL's "Dataset formats and types").
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import orjson

_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>\s*", re.DOTALL)
_REASONING = ("reasoning", "reasoning_content", "thinking")
_KEPT = ("role", "content", "tool_calls", *_REASONING)

ChatMessage = dict[str, Any]


def prompt_of(body: Mapping[str, Any]) -> list[ChatMessage] | None:
    """What was asked, as messages; None of a request that is no conversation, such as one for embeddings."""
    if isinstance(asked := body.get("messages"), list):
        return [_message(each) for each in asked if isinstance(each, dict)] or None
    if isinstance(asked := body.get("prompt"), str):
        return [{"role": "user", "content": asked}]
    if "input" in body and ("instructions" in body or "max_output_tokens" in body or not _embeds(body)):
        return _of_responses(body)
    return None


def _embeds(body: Mapping[str, Any]) -> bool:
    """Whether `input` is what embeddings are made of: texts in a list, or with fields of that endpoint."""
    asked = body["input"]
    return "encoding_format" in body or "dimensions" in body or not _has_roles(asked)


def _has_roles(asked: object) -> bool:
    return isinstance(asked, list) and bool(asked) and all(isinstance(each, dict) for each in asked)


def _of_responses(body: Mapping[str, Any]) -> list[ChatMessage] | None:
    asked, found = body["input"], list[ChatMessage]()
    if isinstance(body.get("instructions"), str):
        found.append({"role": "system", "content": body["instructions"]})
    if isinstance(asked, str):
        return [*found, {"role": "user", "content": asked}]
    if not _has_roles(asked):
        return None
    found += [_message(each) for each in asked if "role" in each]
    return found or None


def tools_of(body: Mapping[str, Any]) -> list[Any] | None:
    tools = body.get("tools")
    return tools if isinstance(tools, list) and tools else None


def completion_of(answer: Mapping[str, Any] | None, text: str | None) -> ChatMessage | None:
    """What the model said, as the assistant's message: by the server's body, else by the text; None if nothing."""
    choices = (answer or {}).get("choices")
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = first.get("message")
    if isinstance(message, dict) and (message.get("content") or message.get("tool_calls")):
        return _message({**message, "role": "assistant"})
    return said(text) if text else None


def said(text: str) -> ChatMessage:
    return {"role": "assistant", "content": text}


def _message(of: Mapping[str, Any]) -> ChatMessage:
    """One message with what training reads of it; arguments of calls are objects, as chat templates want them."""
    found = {name: of[name] for name in _KEPT if of.get(name) is not None}
    found |= {name: of[name] for name in ("name", "tool_call_id") if isinstance(of.get(name), str)}
    found.setdefault("role", "user")
    found.setdefault("content", "")
    if isinstance(calls := found.get("tool_calls"), list):
        found["tool_calls"] = [_call(each) for each in calls]
    return found


def _call(of: Any) -> Any:
    function = of.get("function") if isinstance(of, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("arguments"), str):
        return of
    try:
        arguments = orjson.loads(function["arguments"])
    except orjson.JSONDecodeError:
        return of
    return {**of, "function": {**function, "arguments": arguments}}


def without_reasoning(message: ChatMessage) -> ChatMessage:
    kept = {name: value for name, value in message.items() if name not in _REASONING}
    if isinstance(kept.get("content"), str):
        kept["content"] = _THOUGHT.sub("", kept["content"])
    return kept


def hash_of(prompt: list[ChatMessage]) -> str:
    """By which equal prompts are found, and held out: the same in every export."""
    return hashlib.sha256(orjson.dumps(prompt, option=orjson.OPT_SORT_KEYS)).hexdigest()


def is_held_out(prompt_hash: str, share: float) -> bool:
    """Whether a prompt belongs to a share that is held out; all examples of it do, or none.

    >>> is_held_out("00" * 32, 0.1), is_held_out("ff" * 32, 0.1)
    (True, False)
    """
    return int(prompt_hash[:13], 16) / 16**13 < share
