"""Seeds of what servers say: one whole answer in each shape, with every field that is read of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

KEYS = ("OPENAI_API_KEY", "GEMINI_API_KEY", "XAI_API_KEY", "ANTHROPIC_API_KEY")
TOKENS = [{"token": "A", "logprob": -0.1}, {"token": "B", "logprob": -2.5}]
CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"where": "here"}'}}
MESSAGE = {
    "role": "assistant",
    "content": "Answer: A",
    "refusal": None,
    "reasoning_content": "Hm.",
    "tool_calls": [CALL],
}
USAGE = {
    "prompt_tokens": 12,
    "completion_tokens": 7,
    "total_tokens": 19,
    "completion_tokens_details": {"reasoning_tokens": 3},
    "prompt_tokens_details": {"cached_tokens": 2},
    "cost": 0.002,
    "cost_in_usd_ticks": 70_000,
    "queue_time": 0.1,
    "prompt_time": 0.2,
    "completion_time": 0.3,
    "total_time": 0.5,
}
OPENAI = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1767225600,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": MESSAGE,
            "logprobs": {"content": [{**TOKENS[0], "top_logprobs": TOKENS}]},
            "finish_reason": "stop",
        }
    ],
    "usage": USAGE,
    "timings": {"prompt_n": 3, "prompt_ms": 12.5, "predicted_n": 7, "predicted_ms": 80.1},
}
OLLAMA = {
    "model": "m",
    "created_at": "2026-11-22T03:00:00Z",
    "message": {"role": "assistant", "content": "Answer: A", "thinking": "Hm."},
    "done_reason": "stop",
    "done": True,
    "total_duration": 250_000_000,
    "load_duration": 1_000_000,
    "prompt_eval_count": 12,
    "prompt_eval_duration": 100_000_000,
    "eval_count": 7,
    "eval_duration": 149_000_000,
    "logprobs": [{**TOKENS[0], "top_logprobs": TOKENS}],
}
LIKELY = [{"token": "A", "logProbability": -0.1}, {"token": "B", "logProbability": -2.5}]
GEMINI = {
    "candidates": [
        {
            "content": {"role": "model", "parts": [{"text": "Hm.", "thought": True}, {"text": "Answer: A"}]},
            "finishReason": "STOP",
            "index": 0,
            "logprobsResult": {"topCandidates": [{"candidates": LIKELY}], "chosenCandidates": LIKELY[:1]},
        }
    ],
    "promptFeedback": {"blockReason": None},
    "usageMetadata": {
        "promptTokenCount": 12,
        "candidatesTokenCount": 4,
        "thoughtsTokenCount": 3,
        "totalTokenCount": 19,
    },
}
ANTHROPIC = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Answer: A"}],
    "stop_reason": "end_turn",
    "usage": {
        "input_tokens": 9,
        "cache_read_input_tokens": 3,
        "cache_creation_input_tokens": 1,
        "output_tokens": 7,
    },
}
BODIES: Mapping[str, Mapping[str, Any]] = {
    "openai": OPENAI,
    "grok": OPENAI,
    "ollama": OLLAMA,
    "gemini": GEMINI,
    "anthropic": ANTHROPIC,
}
SHAPELESS = (
    b"",
    b"5",
    b"[]",
    b"{}",
    b"[" * 5000,
    b'{"a":' * 5000,
    b"<html>Bad gateway</html>",
    b'{"error": "overloaded"}',
)


def written(*bodies: Mapping[str, Any]) -> Sequence[bytes]:
    """Bodies as JSON, and in a few places one that is none."""
    return [*(json.dumps(body).encode() for body in bodies for _ in range(24)), *SHAPELESS]


def chats() -> Sequence[bytes]:
    return written(
        OPENAI, {**OPENAI, "choices": [{"index": 0, "text": "x"}]}, {"error": {"message": "no", "code": 500}}
    )


def completions() -> Sequence[bytes]:
    choice = {"index": 0, "text": "and so on", "logprobs": None, "finish_reason": "length"}
    return written({"id": "cmpl-1", "object": "text_completion", "choices": [choice], "usage": USAGE})


def _response(status: str) -> Mapping[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "status": status,
        "error": None if status == "completed" else {"code": "server_error", "message": "it broke"},
        "incomplete_details": {"reason": "max_output_tokens"},
        "output": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "content": []},
            {
                "type": "message",
                "role": "assistant",
                "content": [
                    {"type": "output_text", "text": "Answer: A"},
                    {"type": "refusal", "refusal": "no"},
                ],
            },
            {"type": "function_call", "name": "find", "arguments": "{}", "call_id": "c"},
        ],
        "usage": {"input_tokens": 5, "output_tokens": 6, "output_tokens_details": {"reasoning_tokens": 2}},
    }


def responses() -> Sequence[bytes]:
    return written(*(_response(status) for status in ("completed", "incomplete", "failed")))


def embeddings() -> Sequence[bytes]:
    vectors = [{"object": "embedding", "index": n, "embedding": [0.1, -0.2, 0.3]} for n in range(2)]
    return written(
        {"object": "list", "data": vectors, "model": "m", "usage": {"prompt_tokens": 8, "total_tokens": 8}}
    )


def _events(*chunks: Mapping[str, Any], end: bytes = b"data: [DONE]\n\n", names: bool = False) -> bytes:
    lines = []
    for chunk in chunks:
        name = f"event: {chunk['type']}\n".encode() if names else b""
        lines.append(name + b"data: " + json.dumps(chunk).encode() + b"\n\n")
    return b"".join(lines) + end


def _chunk(delta: Mapping[str, Any], **more: Any) -> Mapping[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": None, **more}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def chat_streams() -> Sequence[bytes]:
    call = {"index": 0, "id": "c1", "function": {"name": "find", "arguments": '{"wh'}}
    chunks = [
        _chunk({"role": "assistant", "content": ""}),
        _chunk({"reasoning_content": "Hm"}),
        _chunk({"content": "Ans"}, logprobs={"content": TOKENS}),
        _chunk({"content": "wer"}),
        _chunk({"tool_calls": [call]}),
        _chunk({"tool_calls": [{"index": 0, "function": {"arguments": 'ere": 1}'}}]}),
        _chunk({}, finish_reason="stop"),
        {"choices": [], "usage": USAGE},
    ]
    plain = _events(*chunks)
    return [
        plain,
        plain.replace(b"\n", b"\r\n"),
        b": still here\n\n" + _events(*chunks[:3], end=b""),
        _events({"error": {"message": "it broke", "code": 429}}, end=b""),
        b'data: {"choices": [{"index": 0, "delta": {"content": "\\ud83d"}}]}\n\ndata: [DONE]\n\n',
    ]


def completion_streams() -> Sequence[bytes]:
    choices = [{"index": 0, "text": text, "finish_reason": None} for text in ("a", "b")]
    return [_events(*({"choices": [one]} for one in choices), {"choices": [], "usage": USAGE})]


def response_streams() -> Sequence[bytes]:
    told = _response("completed")
    chunks: Sequence[Mapping[str, Any]] = [
        {"type": "response.created", "response": {**told, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": told["output"][1]},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Ans"},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "wer"},
        {"type": "response.completed", "response": told},
    ]
    return [_events(*chunks, end=b"", names=True), _events(*chunks[:3], end=b"")]


_GOOGLE = {
    "error": {
        "code": 429,
        "status": "RESOURCE_EXHAUSTED",
        "message": "You exceeded your current quota. metric: x, limit: 0, model: y. Please retry in 53.2s",
        "details": [
            {
                "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                "violations": [
                    {
                        "quotaMetric": "m",
                        "quotaId": "PerDayPerProject",
                        "quotaValue": "0",
                        "quotaDimensions": {"model": "y"},
                    }
                ],
            },
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "53s"},
        ],
    }
}
_REFUSED = {"error": {"message": "Unsupported value: 'temperature' does not support 0. Use max_completion_tokens instead of "
                      "'max_tokens'.", "type": "invalid_request_error", "param": "temperature", "code": "unsupported_value"}}  # fmt: skip


def _refused(status: int, body: Mapping[str, Any] | bytes, *headers: str) -> bytes:
    told = body if isinstance(body, bytes) else json.dumps(body).encode()
    return "\n".join((str(status), *headers)).encode() + b"\n\n" + told


def refusals() -> Sequence[bytes]:
    """An answer as on the wire: status, headers, a blank line, the body."""
    limits = (
        "x-ratelimit-reset-requests: 6m0s",
        "x-ratelimit-reset-tokens: 20ms",
        "x-ratelimit-remaining-requests: 0",
    )
    return [
        _refused(429, _GOOGLE, "Retry-After: 7"),
        _refused(429, {"error": {"message": "Rate limit reached"}}, "retry-after-ms: 1500", *limits),
        _refused(400, _REFUSED),
        _refused(
            422, {"detail": [{"loc": ["body", "top_logprobs"], "msg": "extra fields not permitted: seed"}]}
        ),
        _refused(
            400,
            {
                "type": "error",
                "error": {"type": "invalid_request_error", "message": "`thinking.budget` is odd"},
            },
        ),
        _refused(404, {"error": "model 'm' not found, try pulling it first"}),
        _refused(401, {"error": {"message": "Incorrect API key provided: kkkk", "code": "invalid_api_key"}}),
        _refused(
            503, b"<html><head><title>503</title></head></html>", "Retry-After: Wed, 21 Oct 2026 07:28:00 GMT"
        ),
        _refused(500, b""),
        _refused(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        _refused(200, {}),
    ]


def delays() -> Sequence[bytes]:
    return [
        b"7",
        b"1.5s",
        b"6m0s",
        b"20ms",
        b"Wed, 21 Oct 2026 07:28:00 GMT",
        b"2026-10-21T07:28:00Z",
        b"1h2m3s",
        b"-1",
    ]


def lists() -> Sequence[bytes]:
    plain = {
        "id": "m",
        "object": "model",
        "created": 1,
        "owned_by": "vllm",
        "max_model_len": 4096,
        "aliases": ["n"],
    }
    priced = {**plain, "prompt_text_token_price": 2000, "completion_text_token_price": 10000}
    details = {
        "family": "llama",
        "parameter_size": "8B",
        "quantization_level": "Q4_0",
        "context_length": 8192,
    }
    tagged = {"name": "m:latest", "model": "m:latest", "size": 5, "digest": "ab", "details": details,
              "capabilities": ["completion"], "context_length": 4096}  # fmt: skip
    named = {"name": "models/m", "displayName": "M", "inputTokenLimit": 1000, "outputTokenLimit": 10,
             "supportedGenerationMethods": ["generateContent"]}  # fmt: skip
    return written(
        {"object": "list", "data": [plain, priced], "models": [priced]},
        {"models": [tagged], "model_info": {"general.architecture": "llama", "llama.context_length": 8192}},
        {"models": [named], "nextPageToken": ""},
        {
            "id": "m",
            "type": "model",
            "display_name": "M",
            "created_at": "2026-01-01T00:00:00Z",
            "max_input_tokens": 10,
        },
        {"data": [plain], "has_more": False, "first_id": "m", "last_id": "m"},
        {
            "choices": OPENAI["choices"],
            "data": [plain],
            "version": "0.1",
            "build_info": "b1",
            "default_generation_settings": {},
        },
        {"message": {"content": "x"}, "models": [tagged], "candidates": GEMINI["candidates"], "data": []},
    )


def metrics() -> Sequence[bytes]:
    name = b"vllm:request_inference_time_seconds"
    return [
        b"# HELP x y\n# TYPE x histogram\n"
        + name
        + b'_sum{engine="0"} 1.5\n'
        + name
        + b'_count{engine="0"} 3.0\n',
        name + b"_sum 1e3\n" + name + b"_count 2 1767225600\n",
    ]


def requests() -> Sequence[bytes]:
    message = {"role": "user", "content": 'Say \u00e4 \U0001f600 "so" \\ and {"model": 1}'}
    return [
        json.dumps(
            {"model": "x", "messages": [message], "stream": False, "stream_options": {"a": [1, {}]}}
        ).encode(),
        b'{ "messages" : [ ] , "mo\\u0064el":"y"\n,"max_tokens":1e2 }',
        b"{}",
        b'{"a":1.0000000000000000001,"model":null}',
    ]
