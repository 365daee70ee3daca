"""What servers that others wrote do otherwise than OpenAI's own: one table of facts, each seen on the server itself.

Seen on 2026-11-22: llama.cpp b10434, vLLM 0.32.0, transformers 5.19.0, LiteLLM 1.80.0, llm-katan 0.22.0, mockllm
0.0.8. What a field leaves at its default is as OpenAI has it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

_UVICORN = {"Server": "uvicorn"}
_MADE = frozenset({"n", "logprobs", "top_logprobs", "response_format"})
# What has an effect at OpenAI's own servers.
EFFECTIVE = _MADE | {
    "temperature", "top_p", "seed", "stop", "max_tokens", "max_completion_tokens", "presence_penalty",
    "frequency_penalty", "reasoning_effort", "chat_template_kwargs",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RefusalWords:
    """A refusal in a server's words; `message` has places such as {model}, {value}, {input} or {context}."""

    status: int
    message: str
    kind: str | None = None
    param: str | None = None
    more: Mapping[str, str] = field(
        default_factory=dict
    )  # key of the error -> the place whose number it tells


@dataclass(frozen=True, slots=True)
class Quirks:
    """The facts of one server, or of several at once."""

    headers: Mapping[str, str] = field(default_factory=dict)  # on every answer
    chat_headers: Mapping[str, str] = field(
        default_factory=dict
    )  # on replies; {model}, {number}, {ms} are filled in
    # The list of models.
    owner: str = ""
    entry: str = ""  # whose shape an entry has: llama.cpp, vllm; else OpenAI's
    listing: str = ""  # what is listed: "" all models, "none", "broken" (500), "missing" (404)
    single: bool = True  # a model has a page of its own
    # What is read of a request.
    any_name: str = ""  # a wrong model name is answered: under the server's "own", or under the "asked" one
    bare: bool = False  # /chat/completions and /models are there without /v1 too
    obeys: frozenset[str] = (
        frozenset()
    )  # parameters of its own; what neither it nor OpenAI knows is read past
    ignores: frozenset[str] = frozenset()  # OpenAI's parameters that are taken and have no effect
    strict: frozenset[str] = frozenset()  # the only fields that are taken; empty: any
    most_temperature: float = 0.0  # 0: OpenAI's 2
    most_replies: int = 0  # for `n`; 0: OpenAI's
    greedy_alone: bool = False  # n above 1 is refused at temperature 0
    any_key: bool = False  # some key must be there, whichever
    no_limit: bool = False  # prompts of any length are taken
    room: str = (
        ""  # what becomes of a reply that the context has no room for: "cut", "refused"; "": it is given
    )
    # What is said of a refusal: the shape of the body, and the words by what was wrong.
    errors: str = ""  # llama.cpp, vllm, litellm, llm-katan, fastapi; else OpenAI's
    words: Mapping[str, RefusalWords] = field(default_factory=dict)
    # What a reply holds.
    fingerprint: str = ""
    name: str = ""  # how the model is named in a reply, with {model}
    lacks: frozenset[str] = frozenset()  # fields that it does not have
    nulls: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # fields that are there and null
    no_nulls: bool = False  # what is null is left out
    timings: bool = False  # llama.cpp's, in every reply
    caches: bool = False  # tokens of a prompt that was asked before are told as cached
    token_ids: bool = False  # in log-probabilities
    thoughts: str = (
        "reasoning_content"  # the field of the thoughts; "tags": in the text, between <think> and </think>
    )
    undone: bool = False  # a stream ends without [DONE]
    openai_only: bool = False  # no Ollama, Gemini or xAI is spoken
    # Ollama's own protocol.
    cuts_anyway: bool = False  # a prompt too long is cut without a word, whatever the request says
    overflow_inside: bool = False  # a refusal of one quotes the error of the llama-server inside
    tells_cached: bool = False  # prompt_eval_cached_count
    # Other pages: JSON as it stands, and those that are made by name (see pages.py).
    static: Mapping[str, Any] = field(default_factory=dict)
    made: Mapping[str, str] = field(default_factory=dict)

    @property
    def plain(self) -> bool:
        return self == PLAIN


PLAIN = Quirks()

_NOT_FOUND = "The model `{model}` does not exist. Valid aliases: {known}."
_VLLM = Quirks(
    openai_only=True,
    headers=_UVICORN,
    owner="vllm",
    entry="vllm",
    single=False,
    obeys=frozenset({"top_k", "min_p", "repetition_penalty"}),
    greedy_alone=True,
    room="refused",
    errors="vllm",
    words={
        "model": RefusalWords(404, _NOT_FOUND, "NotFoundError", "model"),
        "too_long": RefusalWords(
            400,
            "This model's maximum context length is {context} tokens. However, your prompt contains at least "
            "{over} input tokens, which exceeds this limit even without any output tokens. Please reduce the "
            "length of the input prompt. (parameter=input_tokens, value={over})",
            "BadRequestError",
            "input_tokens",
        ),
        # From here on documented, not seen: the words of vLLM 0.25 and later.
        "no_room": RefusalWords(
            400,
            "This model's maximum context length is {context} tokens. However, you requested {limit} output "
            "tokens and your prompt contains at least {least} input tokens, for a total of at least {over} "
            "tokens. Please reduce the length of the input prompt or the number of requested output tokens. "
            "(parameter=input_tokens, value={least})",
            "BadRequestError",
            "input_tokens",
        ),
        "limit": RefusalWords(
            400,
            "max_tokens={limit} cannot be greater than max_model_len={context}. Please request fewer output "
            "tokens. (parameter=max_tokens, value={limit})",
            "BadRequestError",
            "max_tokens",
        ),
        "above": RefusalWords(
            400,
            "{name} must be in [0, 2], got {value}. (parameter={name}, value={value})",
            "BadRequestError",
            "{name}",
        ),
        "below": RefusalWords(
            400,
            "{name} must be non-negative, got {value}. (parameter={name}, value={value})",
            "BadRequestError",
            "{name}",
        ),
        "greedy": RefusalWords(
            400, "n must be 1 when using greedy sampling, got {value}.", "BadRequestError"
        ),
        "json": RefusalWords(400, "1 validation error: JSON decode error", "Bad Request", "body"),
        "wrong": RefusalWords(400, "{what}", "BadRequestError"),
    },
    fingerprint="vllm-0.32.0-simulator",
    lacks=frozenset({"completion_tokens_details"}),
    nulls={
        "message": ("annotations", "audio", "function_call", "reasoning"),
        "choice": ("stop_reason", "token_ids", "routed_experts"),
        "usage": ("prompt_tokens_details", "completion_tokens_details"),
        "reply": ("service_tier", "prompt_logprobs", "prompt_token_ids", "kv_transfer_params", "metrics"),
    },
    thoughts="reasoning",
    static={"/version": {"version": "0.32.0"}},
    made={"/health": "empty", "/metrics": "vllm_metrics"},
)

_BUILD = "b1-7e4c0a9"
_LLAMA_CPP = Quirks(
    openai_only=True,
    headers={"Server": "llama.cpp"},
    owner="llamacpp",
    entry="llama.cpp",
    single=False,
    any_name="own",
    bare=True,
    obeys=frozenset({"top_k", "min_p", "repeat_penalty", "repeat_last_n"}),
    most_temperature=math.inf,
    most_replies=4,
    room="cut",
    errors="llama.cpp",
    words={
        "too_long": RefusalWords(
            400,
            "request ({input} tokens) exceeds the available context size ({context} tokens), try increasing it",
            "exceed_context_size_error",
            more={"n_prompt_tokens": "input", "n_ctx": "context"},
        ),
        "loading": RefusalWords(503, "Loading model", "unavailable_error"),
        "json": RefusalWords(500, "[json.exception.parse_error.101] parse error: {what}", "server_error"),
        "wrong": RefusalWords(400, "{what}", "invalid_request_error"),
        "replies": RefusalWords(
            400,
            "Field 'n': Value must be between 1 <= value <= {most}, but got {value}",
            "invalid_request_error",
        ),
        "page": RefusalWords(404, "File Not Found", "not_found_error"),
    },
    fingerprint=_BUILD,
    lacks=frozenset({"refusal", "completion_tokens_details"}),
    no_nulls=True,
    timings=True,
    caches=True,
    token_ids=True,
    made={
        "/props": "props",
        "/slots": "slots",
        "/metrics": "llama_metrics",
        "/health": "ok",
        "/v1/health": "ok",
    },
)

_TAKEN = {"model", "messages", "stream", "stream_options", "user", "logit_bias"}
_TRANSFORMERS = Quirks(
    openai_only=True,
    headers=_UVICORN,
    listing="broken",
    single=False,
    # The last two as long as the model's own settings do not say that it samples.
    ignores=_MADE | {"max_completion_tokens", "reasoning_effort", "temperature", "seed"},
    strict=EFFECTIVE | _TAKEN,
    most_temperature=math.inf,
    no_limit=True,
    errors="fastapi",
    words={
        "model": RefusalWords(400, "Server is pinned to '{first}'; requested '{model}'."),
        "strict": RefusalWords(422, "Unexpected fields in the request: {what}"),
        "json": RefusalWords(422, "JSON decode error"),
        "wrong": RefusalWords(500, ""),
    },
    name="{model}@main",
    lacks=frozenset({"refusal", "completion_tokens_details", "logprobs", "system_fingerprint"}),
    no_nulls=True,
    thoughts="tags",
    undone=True,
    made={"/health": "ok"},
)

_LITELLM = Quirks(
    openai_only=True,
    headers=_UVICORN,
    chat_headers={
        "x-litellm-call-id": "sim-{number}",
        "x-litellm-version": "1.80.0",
        "x-litellm-model-api-base": "http://127.0.0.1:1/v1",
        "x-litellm-model-group": "{model}",
        "x-litellm-response-duration-ms": "{ms}",
        "x-litellm-attempted-retries": "0",
        "x-litellm-attempted-fallbacks": "0",
    },
    owner="openai",
    bare=True,
    most_temperature=math.inf,
    errors="litellm",
    words={
        "model": RefusalWords(
            400,
            "{{'error': '/chat/completions: Invalid model name passed in model={model}. Call `/v1/models` to "
            "view available models for your key.'}}",
            "None",
            "None",
        ),
        "too_long": RefusalWords(
            400,
            "litellm.BadRequestError: OpenAIException - request ({input} tokens) exceeds the available context "
            "size ({context} tokens), try increasing it. Received Model Group={model}\nAvailable Model Group "
            "Fallbacks=None",
        ),
        "broken": RefusalWords(
            500,
            "litellm.InternalServerError: InternalServerError: OpenAIException - Connection error.. Received "
            "Model Group={model}\nAvailable Model Group Fallbacks=None",
        ),
        "json": RefusalWords(400, "Invalid JSON payload: {what}", "invalid_request_error", "request_body"),
        "wrong": RefusalWords(400, "litellm.BadRequestError: OpenAIException - {what}"),
    },
    lacks=frozenset({"completion_tokens_details"}),
    no_nulls=True,
    static={"/health/readiness": {"status": "connected", "litellm_version": "1.80.0"}},
    made={"/health/liveliness": "alive"},
)

_KATAN = {"status": "ok", "model": "sim", "backend": "echo", "providers": ["openai", "anthropic"]}
_LLM_KATAN = Quirks(
    openai_only=True,
    headers=_UVICORN,
    owner="llm-katan",
    single=False,
    any_name="asked",
    ignores=EFFECTIVE,
    most_temperature=math.inf,
    any_key=True,
    no_limit=True,
    errors="llm-katan",
    words={
        "key": RefusalWords(
            401, "missing Authorization header", "invalid_request_error", more={"code": "key"}
        ),
        "json": RefusalWords(400, "Invalid JSON in request body", "invalid_request_error"),
    },
    lacks=frozenset({"refusal", "completion_tokens_details", "system_fingerprint"}),
    thoughts="tags",
    static={
        "/health": _KATAN,
        "/": {"name": "LLM Katan", "version": "0.22.0", "model": "sim", "backend": "echo"},
    },
)

_MOCKLLM = Quirks(
    openai_only=True,
    headers=_UVICORN,
    listing="missing",
    single=False,
    any_name="asked",
    ignores=EFFECTIVE,
    most_temperature=math.inf,
    no_limit=True,
    errors="fastapi",
    words={"json": RefusalWords(500, ""), "wrong": RefusalWords(500, "")},
    lacks=frozenset({"refusal", "completion_tokens_details", "logprobs", "system_fingerprint"}),
    thoughts="tags",
    static={"/models": {"models": ["sim"], "by_provider": {}}, "/providers": {}},
)

QUIRKS: Mapping[str, Quirks] = {
    "llama.cpp": _LLAMA_CPP,
    "vllm": _VLLM,
    "transformers": _TRANSFORMERS,
    # With a hub folder that holds no model.
    "transformers-empty": replace(_TRANSFORMERS, listing="none"),
    "litellm": _LITELLM,
    "llm-katan": _LLM_KATAN,
    "mockllm": _MOCKLLM,
    # Ollama by its version; read in its source and issues, not seen.
    "ollama-0.33": Quirks(overflow_inside=True, tells_cached=True, caches=True),
    "ollama-0.11": Quirks(cuts_anyway=True),
    # Single facts, which go with any server above that has none of its kind.
    "no-list": Quirks(listing="missing"),
    "empty-list": Quirks(listing="none"),
    "broken-list": Quirks(listing="broken"),
    "any-name": Quirks(any_name="asked"),
    "thinking-tags": Quirks(thoughts="tags"),
    "no-schemas": Quirks(ignores=frozenset({"response_format"})),
    "no-logprobs": Quirks(ignores=frozenset({"logprobs", "top_logprobs"})),
}


def combine(names: Sequence[str]) -> Quirks:
    """The facts of all of these at once. Raises: ValueError for an unknown name, or for two facts that contradict."""
    if unknown := next((name for name in names if name not in QUIRKS), None):
        raise ValueError(f"--quirks {unknown}: one of {', '.join(QUIRKS)}")
    facts: dict[str, Any] = {}
    said_by: dict[str, str] = {}
    for name in names:
        for one in fields(Quirks):
            value = getattr(QUIRKS[name], one.name)
            if value != getattr(PLAIN, one.name):
                facts[one.name] = _joined(facts.get(one.name, value), value, one.name, name, said_by)
                said_by.setdefault(one.name, name)
    return Quirks(**facts)


def _joined(first: Any, second: Any, fact: str, name: str, said_by: Mapping[str, str]) -> Any:
    if isinstance(first, frozenset):
        return first | second
    if isinstance(first, Mapping):
        if clash := next((key for key in first.keys() & second.keys() if first[key] != second[key]), None):
            raise _contradiction(f"{fact} ({clash})", said_by[fact], name)
        return {**first, **second}
    if first != second:
        raise _contradiction(fact, said_by[fact], name)
    return first


def _contradiction(fact: str, first: str, second: str) -> ValueError:
    return ValueError(f"--quirks {first},{second}: they contradict each other in {fact}; name one of them")
