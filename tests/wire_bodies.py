"""A whole reply in the shape of each protocol, what may be odd about it, and a server that says what it is told."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson

TOKENS = [{"token": "A", "logprob": -0.1}, {"token": "B", "logprob": -2.5}]
OPENAI = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1767225600,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "Answer: A",
                "refusal": None,
                "reasoning_content": "Hm.",
            },
            "logprobs": {"content": [{**TOKENS[0], "top_logprobs": TOKENS}]},
            "finish_reason": "stop",
        }
    ],
    "usage": {
        "prompt_tokens": 12,
        "completion_tokens": 7,
        "total_tokens": 19,
        "completion_tokens_details": {"reasoning_tokens": 3},
        "cost": 0.002,
    },
}
BODIES: dict[str, dict[str, Any]] = {
    "openai": OPENAI,
    "grok": {**OPENAI, "usage": {**OPENAI["usage"], "cost_in_usd_ticks": 70_000}},
    "ollama": {
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
    },
    "gemini": {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [{"text": "Hm.", "thought": True}, {"text": "Answer: A"}],
                },
                "finishReason": "STOP",
                "index": 0,
                "logprobsResult": {
                    "topCandidates": [
                        {
                            "candidates": [
                                {"token": "A", "logProbability": -0.1},
                                {"token": "B", "logProbability": -2.5},
                            ]
                        }
                    ],
                    "chosenCandidates": [{"token": "A", "logProbability": -0.1}],
                },
            }
        ],
        "promptFeedback": {"blockReason": None},
        "usageMetadata": {
            "promptTokenCount": 12,
            "candidatesTokenCount": 4,
            "thoughtsTokenCount": 3,
            "totalTokenCount": 19,
        },
    },
    "anthropic": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Answer: A"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 9, "cache_read_input_tokens": 3, "output_tokens": 7},
    },
}
PATHS = {"openai": "/v1", "grok": "/v1"}
ODD: list[Any] = [5, "12", -1, 7.5, 10**15, True, None, [], [5], {}, {"text": 5}, "\0\x1b[2J\r\n"]
# No JSON object at all.
SHAPELESS = [
    b"",
    b"5",
    b"null",
    b'"Answer: A"',
    b"[]",
    b"{}",
    b"\xff\xfe",
    b"[" * 5000,
    b'{"a":' * 5000,
    b'{"usage": NaN}',
    b'data: {"choices": []}\n\ndata: [DONE]\n\n',
]
Path = tuple[str | int, ...]


def paths(value: Any, at: Path = ()) -> Iterator[Path]:
    """The place of every value inside a JSON value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in pairs:
        yield (*at, name)
        yield from paths(inner, (*at, name))


def replaced(body: Any, path: Path, value: Any) -> Any:
    """The body with another value at the path; as it is where an earlier replacement took the path away."""
    changed = copy.deepcopy(body)
    *outer, last = path
    place = changed
    try:
        for step in outer:
            place = place[step]
        place[last] = value
    except (TypeError, KeyError, IndexError):
        return changed
    return changed


def odd_bodies(shape: str) -> list[bytes]:
    """The shape's body with each of its values replaced by each odd one, and what is no reply at all."""
    body = BODIES[shape]
    made = [orjson.dumps(replaced(body, path, odd)) for path in paths(body) for odd in ODD]
    return [*made, *SHAPELESS]


class _Door(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: the client need not wait for the second

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._say(next(self.server.bodies))

    def do_GET(self) -> None:
        """The lists of models of Ollama and of the OpenAI protocol in one."""
        rows = [{"name": "m", "id": "m"}]
        self._say(orjson.dumps({"models": rows, "data": rows}))

    def _say(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing: the test tells what matters."""


@contextmanager
def saying(bodies: Iterator[bytes] | Sequence[bytes], host: str = "127.0.0.1") -> Iterator[str]:
    """A server of all protocols that answers each POST with the next body; where it is."""
    server = ThreadingHTTPServer((host, 0), _Door)
    server.daemon_threads = True
    server.bodies = iter(bodies)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://{host}:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
