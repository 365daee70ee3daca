"""Ollama's wire shape: POST /api/chat and the pages about the models."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from proctor.simulator.protocols.memory import FOR_EVER, Resident, keep_alive
from proctor.simulator.protocols.openai import told_tokens
from proctor.simulator.protocols.wire import (
    Ask,
    Denied,
    JsonBody,
    Known,
    SchemaForm,
    ServerTerms,
    SimulatedReply,
    Stamp,
    count_input,
    read_body,
    read_form,
    split,
)

STREAM_TYPE = "application/x-ndjson"
VERSION = "0.33.0"
RUNNING = "Ollama is running"
MODIFIED = "2026-01-01T00:00:00Z"
EXPIRES = "2318-01-01T00:00:00Z"  # a model kept for ever is shown with a date far away
PARAMETERS = 1_000_000_000
SIZE_BYTES = 700_000_000

# Durations are told in nanoseconds and are never 0, as from the real server; loading must stay below what the
# quickest request takes on the wire, because clients subtract it.
_LOAD_NS = 10_000
_LEAST_NS = 1_000
_KEEP = 4  # tokens at the beginning that a cut spares
_LONGEST = 1 << 40

_DETAILS = {
    "parent_model": "",
    "format": "gguf",
    "family": "sim",
    "families": ["sim"],
    "parameter_size": "1B",
    "quantization_level": "Q4_0",
}


def read(body: bytes, terms: ServerTerms, known: Known) -> Ask:
    """Understand a request, or raise Denied with Ollama's status and words."""
    try:
        fields = read_body(body)
        ask = _read(fields, terms, known)
    except ValueError as error:
        raise Denied(400, {"error": str(error)}) from None
    if ask.name not in known:
        raise unknown(ask.model)
    if fields.fields.get("think") and not known[ask.name].thinks:
        raise Denied(400, {"error": f'"{ask.model}" does not support thinking'})
    if ask.cut and fields.fields.get("truncate") is False and not terms.quirks.cuts_anyway:
        raise _too_long(
            count_input(ask.messages), ask.context_tokens or 0, inside=terms.quirks.overflow_inside
        )
    return ask


def _too_long(tokens: int, context_tokens: int, *, inside: bool) -> Denied:
    if not inside:
        return Denied(400, {"error": "the input length exceeds the context length"})
    quoted = {
        "code": 400,
        "message": f"request ({tokens} tokens) exceeds the available context size ({context_tokens} tokens), "
        "try increasing it",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": tokens,
        "n_ctx": context_tokens,
    }
    return Denied(400, {"error": orjson.dumps({"error": quoted}).decode()})


def _read(fields: JsonBody, terms: ServerTerms, known: Known) -> Ask:
    model = fields.text("model")
    messages = () if fields.fields.get("messages") is None else fields.messages()
    options = fields.inner("options")
    # More than the model was trained for is reduced to that, and nobody is told.
    context_tokens = min(options.count("num_ctx") or terms.context_tokens, most_context(terms))
    limit = options.count("num_predict")
    fields.flag("truncate", default=True)
    input_tokens = count_input(messages)
    return Ask(
        model=model,
        name=named(model, known),
        messages=messages,
        stream=fields.flag("stream", default=True),
        input_tokens=_kept(input_tokens, context_tokens, terms),
        limit=limit if limit is not None and limit > 0 else None,  # -1: until the model is done
        cut=input_tokens > context_tokens,
        think=fields.fields.get("think") is not False,
        form=_form(fields.fields.get("format")),
        ranked=_ranked(fields),
        context_tokens=context_tokens,
        runner=(context_tokens, fields.flag("shift", default=True)),
        keep_alive_s=keep_alive(fields.fields.get("keep_alive")),
    )


def most_context(terms: ServerTerms) -> int:
    """The longest context that a model of this server can have."""
    return terms.trained_tokens or _LONGEST


def _kept(input_tokens: int, context_tokens: int, terms: ServerTerms) -> int:
    """What is left of a prompt that is cut: in newer versions its beginning and the last half of the context."""
    if input_tokens <= context_tokens:
        return input_tokens
    newer = terms.quirks.overflow_inside
    return context_tokens - max((context_tokens - _KEEP) // 2, 1) if newer else context_tokens


def _form(wanted: Any) -> SchemaForm | None:
    if not wanted:
        return None
    if isinstance(wanted, dict):
        return read_form(wanted)
    if wanted != "json":
        raise ValueError(f'invalid format: {wanted!r}; expected "json" or a JSON schema')
    return SchemaForm("answer", ())


def _ranked(fields: JsonBody) -> int | None:
    top = fields.ranked("top_logprobs")
    return top or 0 if fields.flag("logprobs", default=False) else None


def named(name: str, known: Known) -> str:
    """The name as it is known here: as it was given, or without the tag that Ollama adds by itself."""
    return name if name in known else name.removesuffix(":latest")


def _tagged(name: str) -> str:
    return name if ":" in name else f"{name}:latest"


def whole(ask: Ask, said: SimulatedReply, stamp: Stamp) -> bytes:
    """The reply in one piece."""
    return orjson.dumps({**_frame(ask, stamp, said.text, said.reasoning), **_end(ask, said, stamp)})


def pieces(ask: Ask, said: SimulatedReply, stamp: Stamp) -> list[bytes]:
    """The reply as one JSON object a line; the last has no text, but the counts and durations."""
    frames = [_frame(ask, stamp, "", word) for word in split(said.reasoning)]
    frames += [_frame(ask, stamp, word, "") for word in split(said.text)]
    lines = [orjson.dumps({**frame, "done": False}) + b"\n" for frame in frames]
    return [*lines, orjson.dumps({**_frame(ask, stamp, "", ""), **_end(ask, said, stamp)}) + b"\n"]


def loaded(ask: Ask, at: float) -> bytes:
    """The answer to a request without messages: the model is in memory now, or out of it."""
    frame = _frame(ask, Stamp(0, at, 0.0), "", "")
    line = orjson.dumps({**frame, "done_reason": "unload" if ask.keep_alive_s == 0 else "load", "done": True})
    return line + b"\n" if ask.stream else line


def _frame(ask: Ask, stamp: Stamp, text: str, reasoning: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    if reasoning:
        message["thinking"] = reasoning
    return {"model": ask.model, "created_at": _moment(stamp.at), "message": message}


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")


def _end(ask: Ask, said: SimulatedReply, stamp: Stamp) -> dict[str, Any]:
    prompt_ns = max(int(stamp.prompt_s * 1e9), _LEAST_NS)
    eval_ns = max(int(stamp.latency_s * 1e9) - prompt_ns, _LEAST_NS * said.output_tokens)
    load_ns = max(int(stamp.load_s * 1e9), _LOAD_NS)
    logprobs = {"logprobs": told_tokens(said.tokens)} if ask.ranked is not None else {}
    cached = {} if stamp.cached_tokens is None else {"prompt_eval_cached_count": stamp.cached_tokens}
    return {
        **logprobs,
        **cached,
        # Ollama has no word for a refusal: the model stopped by itself.
        "done_reason": "length" if said.finish == "length" else "stop",
        "done": True,
        # The wait for a slot stands here alone.
        "total_duration": load_ns + int(stamp.waited_s * 1e9) + prompt_ns + eval_ns,
        "load_duration": load_ns,
        "prompt_eval_count": ask.input_tokens,
        "prompt_eval_duration": prompt_ns,
        "eval_count": said.output_tokens,
        "eval_duration": eval_ns,
    }


def unknown(model: str) -> Denied:
    return Denied(404, {"error": f"model '{model}' not found"})


def busy(retry_after_s: float) -> Denied:
    # The real server says no time to wait; the clients must find one.
    return Denied(503, {"error": "server busy, please try again. maximum pending requests exceeded"})


def broken() -> Denied:
    return Denied(500, {"error": "an error was encountered while running the model"})


def overloaded() -> Denied:
    return busy(0.0)


def forbidden() -> Denied:
    return Denied(403, {"error": "forbidden"})


def exhausted(quota: int) -> Denied:
    # Ollama's cloud; a server of one's own has no quota.
    return Denied(402, {"error": f"you have used up the {quota} requests of your plan"})


def cut_off() -> bytes:
    return broken().body + b"\n"


def _entry(name: str) -> dict[str, Any]:
    tagged = _tagged(name)
    return {
        "name": tagged,
        "model": tagged,
        "size": SIZE_BYTES,
        "digest": hashlib.sha256(name.encode()).hexdigest(),
        "details": _DETAILS,
    }


def tags(known: Known) -> bytes:
    """What GET /api/tags answers: every model there is."""
    return orjson.dumps({"models": [{**_entry(name), "modified_at": MODIFIED} for name in known]})


def loaded_models(residents: Mapping[str, Resident]) -> bytes:
    """What GET /api/ps answers: the models in memory, each with the context of one of its slots."""
    return orjson.dumps({"models": [_loaded_entry(name, one) for name, one in residents.items()]})


def _loaded_entry(name: str, one: Resident) -> dict[str, Any]:
    ends = one.expires_at if one.expires_at != FOR_EVER else time.time() + one.keep_alive_s
    expires_at = EXPIRES if ends == FOR_EVER else _moment(ends)
    return {**_entry(name), "expires_at": expires_at, "size_vram": 0, "context_length": one.context_tokens}


def show(body: bytes, terms: ServerTerms, known: Known) -> bytes:
    """What POST /api/show answers. Raises: Denied."""
    try:
        model = read_body(body).text("model")
    except ValueError as error:
        raise Denied(400, {"error": str(error)}) from None
    if (name := named(model, known)) not in known:
        raise unknown(model)
    thinks = known[name].thinks
    return orjson.dumps({
        "modelfile": f"# simulated\nFROM {_tagged(model)}\n",
        "parameters": "",
        "template": "{{ .Prompt }}",
        "details": _DETAILS,
        "model_info": {
            "general.architecture": "sim",
            "general.parameter_count": PARAMETERS,
            "sim.context_length": terms.trained_tokens or terms.context_tokens,
        },
        "capabilities": ["completion", "thinking"] if thinks else ["completion"],
        "modified_at": MODIFIED,
    })  # fmt: skip
