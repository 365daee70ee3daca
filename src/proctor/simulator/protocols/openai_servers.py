"""OpenAI's shape as servers of others speak it: what `quirks.py` says of them, applied to requests and replies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from proctor.simulator.protocols import openai
from proctor.simulator.protocols.quirks import EFFECTIVE, Quirks, RefusalWords
from proctor.simulator.protocols.ranges import RANGES, Range
from proctor.simulator.protocols.wire import (
    Ask,
    Denied,
    JsonBody,
    Known,
    ServerTerms,
    SimulatedReply,
    Stamp,
    read_body,
)

_PENALTIES = ("repeat_penalty", "repetition_penalty")
_NOT_SAMPLING = frozenset({"model", "messages", "stream", "stream_options", "user"})


class Kin:
    """A server of OpenAI's protocol with quirks."""

    STREAM_TYPE = openai.STREAM_TYPE

    def __init__(self, quirks: Quirks) -> None:
        self._quirks = quirks

    def read(self, body: bytes, terms: ServerTerms, known: Known) -> Ask:
        quirks = self._quirks
        try:
            fields = read_body(body)
        except ValueError as error:
            raise self._deny("json", openai.bad_request(str(error)), what=str(error)) from None
        if quirks.strict and (odd := sorted(fields.fields.keys() - quirks.strict)):
            raise self._deny("strict", what="{" + ", ".join(map(repr, odd)) + "}")
        self._check_numbers(fields)
        read = JsonBody({name: value for name, value in fields.fields.items() if name not in quirks.ignores})
        try:
            ask = openai.parse(read)
        except ValueError as error:
            raise self._deny("wrong", openai.bad_request(str(error)), what=str(error)) from None
        ask = self._effects(self._named(ask, known), fields)
        return self._fitted(ask, terms)

    def _check_numbers(self, fields: JsonBody) -> None:
        ranges = dict(RANGES)
        if self._quirks.most_temperature:
            ranges["temperature"] = Range(-self._quirks.most_temperature, self._quirks.most_temperature)
        if self._quirks.most_replies:
            ranges["n"] = Range(1, self._quirks.most_replies, "integer")
        for name, allowed in ranges.items():
            value = fields.fields.get(name)
            if value is None or name in self._quirks.ignores or allowed.holds(value):
                continue
            if not allowed.typed(value):
                what = f"Field '{name}': must be a number"
                raise self._deny("wrong", openai.out_of_range(name, value), what=what)
            which = "replies" if name == "n" else "below" if value < allowed.least else "above"
            usual = openai.out_of_range(name, value)
            told = value if allowed.kind == "integer" else float(value)
            raise self._deny(which, usual, name=name, value=told, most=int(allowed.most))
        if (
            self._quirks.greedy_alone
            and fields.fields.get("temperature") == 0
            and (fields.fields.get("n") or 1) > 1
        ):
            raise self._deny("greedy", value=fields.fields["n"])

    def _named(self, ask: Ask, known: Known) -> Ask:
        if ask.name in known:
            return ask
        first = next(iter(known))
        if not self._quirks.any_name:
            usual = openai.unknown(ask.model)
            raise self._deny("model", usual, model=ask.model, known=", ".join(known), first=first)
        return replace(ask, name=first, model=first if self._quirks.any_name == "own" else ask.model)

    def _effects(self, ask: Ask, fields: JsonBody) -> Ask:
        effective = (EFFECTIVE - self._quirks.ignores) | self._quirks.obeys
        given = {n: v for n, v in fields.fields.items() if v is not None and n not in _NOT_SAMPLING}
        applied = {name: value for name, value in given.items() if name in effective}
        return replace(
            ask,
            applied=applied,
            ignored=tuple(sorted(given.keys() - applied.keys())),
            varied=any(applied.get(name, 1) != 1 for name in _PENALTIES),
        )

    def _fitted(self, ask: Ask, terms: ServerTerms) -> Ask:
        """Raises: Denied for a prompt that the context does not hold, with its reply where both must fit."""
        if self._quirks.no_limit:
            return ask
        context, prompt, limit = terms.context_tokens, ask.input_tokens, ask.limit
        sizes: dict[str, Any] = {
            "model": ask.model,
            "input": prompt,
            "context": context,
            "over": context + 1,
            "limit": limit,
        }
        # As llama.cpp: a prompt that fills the context leaves no room for a reply.
        if prompt > context or (self._quirks.room and prompt == context):
            raise self._deny("too_long", openai.too_long(prompt, context), **sizes)
        if self._quirks.room == "refused" and limit is not None and limit > context:
            raise self._deny("limit", **sizes)
        if self._quirks.room == "refused" and limit is not None and prompt + limit > context:
            raise self._deny("no_room", least=context - limit + 1, **sizes)
        if not self._quirks.room:
            return ask
        return replace(ask, limit=min(context - prompt, limit or context))

    def whole(self, ask: Ask, said: SimulatedReply, stamp: Stamp) -> bytes:
        reply = openai.reply(ask, self._told(said), stamp)
        for choice in reply["choices"]:
            self._finish(choice["message"], "message")
            self._finish(choice, "choice")
            self._identify(choice)
        self._frame(reply, ask)
        self._count(reply["usage"], stamp)
        if self._quirks.timings:
            reply["timings"] = timings(ask, said, stamp)
        return orjson.dumps(self._finish(reply, "reply"))

    def pieces(self, ask: Ask, said: SimulatedReply, stamp: Stamp) -> list[bytes]:
        chunks = list(openai.chunks(ask, self._told(said), stamp))
        for chunk in chunks:
            self._frame(chunk, ask)
            if chunk.get("usage"):
                self._count(chunk["usage"], stamp)
            for choice in chunk["choices"]:
                self._identify(choice)
                for name in self._quirks.lacks & choice["delta"].keys():
                    del choice["delta"][name]
        if self._quirks.timings:
            chunks[-1]["timings"] = timings(ask, said, stamp)
        events = [b"data: " + orjson.dumps(chunk) + b"\n\n" for chunk in chunks]
        return events if self._quirks.undone else [*events[:-1], events[-1] + openai.DONE]

    def _told(self, said: SimulatedReply) -> SimulatedReply:
        """The reply as this server tells it: where there is no word for a refusal it is a text like others."""
        if "refusal" in self._quirks.lacks and said.finish in ("refused", "blocked"):
            said = replace(said, finish="stop")
        if self._quirks.thoughts == "tags" and said.reasoning:
            said = replace(said, reasoning="", text=f"<think>\n{said.reasoning}\n</think>\n\n{said.text}")
        return (
            replace(said, others=tuple(self._told(other) for other in said.others)) if said.others else said
        )

    def _frame(self, reply: dict[str, Any], ask: Ask) -> None:
        if self._quirks.fingerprint:
            reply["system_fingerprint"] = self._quirks.fingerprint
        if self._quirks.name:
            reply["model"] = self._quirks.name.format(model=ask.model)

    def _count(self, usage: dict[str, Any], stamp: Stamp) -> None:
        if self._quirks.caches:
            usage["prompt_tokens_details"] = {"cached_tokens": stamp.cached_tokens or 0}
        self._finish(usage, "usage")

    def _finish(self, table: dict[str, Any], level: str) -> dict[str, Any]:
        """The object without what this server lacks, and with what it has beside."""
        if self._quirks.thoughts == "reasoning" and "reasoning_content" in table:
            table["reasoning"] = table.pop("reasoning_content")
        for name in [
            n for n in table if n in self._quirks.lacks or (self._quirks.no_nulls and table[n] is None)
        ]:
            del table[name]
        for name in self._quirks.nulls.get(level, ()):
            table.setdefault(name, None)
        return table

    def _identify(self, choice: dict[str, Any]) -> None:
        if not choice.get("logprobs"):
            return
        for name in self._quirks.lacks & choice["logprobs"].keys():
            del choice["logprobs"][name]
        if not self._quirks.token_ids:
            return
        for token in choice["logprobs"]["content"] or ():
            for one in (token, *token["top_logprobs"]):
                one["id"] = sum(one["bytes"]) % 49152

    def busy(self, retry_after_s: float) -> Denied:
        return self._deny("busy", openai.busy(retry_after_s))

    def broken(self) -> Denied:
        return self._deny("broken", openai.broken(), model="sim")

    def overloaded(self) -> Denied:
        return self._deny("overloaded", openai.overloaded())

    def forbidden(self) -> Denied:
        return self._deny("forbidden", openai.forbidden())

    def exhausted(self, quota: int) -> Denied:
        return self._deny("exhausted", openai.exhausted(quota))

    def cut_off(self) -> bytes:
        return b"data: " + self.broken().body + b"\n\n"

    def loading(self) -> Denied:
        return self._deny("loading", openai.overloaded())

    def missing(self) -> Denied:
        """There is no such page."""
        words = self._quirks.words.get("page")
        return self._deny("page") if words else Denied(404, {"detail": "Not Found"})

    def no_key(self) -> Denied:
        return self._deny("key", openai.wrong_key(None), key="invalid_api_key")

    def _deny(self, which: str, usual: Denied | None = None, **places: Any) -> Denied:
        """The refusal in this server's words; where none are known of it, the usual one in its shape."""
        words = self._quirks.words.get(which)
        if words is None:
            words = _usual_words(usual or openai.broken())
            places = {}
        more = {key: places[place] for key, place in words.more.items()}
        headers = usual.headers if usual else None
        message = words.message.format(**places) if places else words.message
        param = words.param.format(**places) if words.param and places else words.param
        if not message:
            return Denied(
                words.status, b"Internal Server Error", {"Content-Type": "text/plain; charset=utf-8"}
            )
        shape = _SHAPES[self._quirks.errors]
        return Denied(words.status, shape(replace(words, message=message, param=param), more), headers)


def timings(ask: Ask, said: SimulatedReply, stamp: Stamp) -> dict[str, Any]:
    """What llama.cpp tells of a reply: its own work in milliseconds, without the wait for a slot."""
    cached = stamp.cached_tokens or 0
    read, written = ask.input_tokens - cached, sum(one.output_tokens for one in said.all)
    prompt_ms, written_ms = stamp.prompt_s * 1e3, (stamp.latency_s - stamp.prompt_s) * 1e3
    return {
        "cache_n": cached,
        **_rates("prompt", read, max(prompt_ms, 0.001)),
        **_rates("predicted", written, max(written_ms, 0.001)),
    }


def _rates(name: str, tokens: int, ms: float) -> dict[str, Any]:
    return {
        f"{name}_n": tokens,
        f"{name}_ms": ms,
        f"{name}_per_token_ms": ms / tokens if tokens else 0.0,
        f"{name}_per_second": tokens / ms * 1e3,
    }


def _usual_words(denied: Denied) -> RefusalWords:
    error = orjson.loads(denied.body)["error"]
    message = error["message"].replace("{", "{{").replace("}", "}}")
    return RefusalWords(denied.status, message, error["type"], error["param"], {})


def _as_openai(words: RefusalWords, more: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "error": {"message": words.message, "type": words.kind, "param": words.param, "code": None, **more}
    }


def _as_llama_cpp(words: RefusalWords, more: Mapping[str, Any]) -> dict[str, Any]:
    return {"error": {"code": words.status, "message": words.message, "type": words.kind, **more}}


def _as_vllm(words: RefusalWords, more: Mapping[str, Any]) -> dict[str, Any]:
    error = {"message": words.message, "type": words.kind, "param": words.param, "code": words.status, **more}
    return {"error": error}


def _as_litellm(words: RefusalWords, more: Mapping[str, Any]) -> dict[str, Any]:
    error = {"message": words.message, "type": words.kind, "param": words.param, "code": str(words.status)}
    return {"error": {**error, **more}}


def _as_llm_katan(words: RefusalWords, more: Mapping[str, Any]) -> dict[str, Any]:
    return {"error": {"message": words.message, "type": words.kind, "code": None, **more}}


def _as_fastapi(words: RefusalWords, more: Mapping[str, Any]) -> dict[str, Any]:
    return {"detail": words.message, **more}


_SHAPES = {
    "": _as_openai,
    "llama.cpp": _as_llama_cpp,
    "vllm": _as_vllm,
    "litellm": _as_litellm,
    "llm-katan": _as_llm_katan,
    "fastapi": _as_fastapi,
}
