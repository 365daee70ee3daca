"""A model's server that tells whoever asks all that it was sent, headers too: in replies, streams and errors."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, ClassVar


class Mirror(BaseHTTPRequestHandler):
    """Every third call is refused, with the headers in the error's words, as every other way to ask is."""

    protocol_version = "HTTP/1.1"
    numbers = count()
    heard: ClassVar[set[str]] = set()  # what stood in the headers of all its requests

    def do_GET(self) -> None:
        self._send(200, "application/json", json.dumps({"object": "list", "data": [self._model()]}))

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        seen = self._seen()
        if next(self.numbers) % 3 == 2:
            self._send(
                400, "application/json", json.dumps({"error": {"message": seen, "code": seen, "type": "bad"}})
            )
        elif asked.get("stream"):
            self._send(200, "text/event-stream", "".join(self._events(seen)))
        else:
            choice = {"index": 0, "message": {"role": "assistant", "content": seen}, "finish_reason": "stop"}
            self._send(
                200, "application/json", json.dumps({**self._whole("chat.completion"), "choices": [choice]})
            )

    def _seen(self) -> str:
        self.heard.update(self.headers.values())
        return json.dumps(dict(self.headers))

    def _model(self) -> dict[str, Any]:
        return {"id": "m", "object": "model", "created": 1, "owned_by": self._seen()}

    def _whole(self, kind: str) -> dict[str, Any]:
        usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        return {"id": "c-1", "object": kind, "created": 1, "model": "m", "usage": usage, "seen": self._seen()}

    def _events(self, seen: str) -> Iterator[str]:
        """Once in one piece, and once again in pieces of 7 characters."""
        for piece in (seen, *(seen[at : at + 7] for at in range(0, len(seen), 7))):
            choice = {"index": 0, "delta": {"content": piece}, "finish_reason": None}
            yield f"data: {json.dumps({**self._whole('chat.completion.chunk'), 'choices': [choice]})}\n\n"
        yield "data: [DONE]\n\n"

    def _send(self, status: int, kind: str, body: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body.encode())))
        self.send_header("X-Request-Id", self.headers.get("Authorization", ""))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def mirror() -> Iterator[str]:
    """Its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Mirror) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            serving.join()
