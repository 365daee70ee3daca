"""Servers of the OpenAI protocol as other programs are: what they list, say of themselves, and answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answers = Callable[[Mapping[str, Any]], Any]  # the request -> the body of a reply, or (status, body)


@dataclass(frozen=True)
class Odd:
    """`says` is what stands at a path, with its status; every chat request is kept in `asked`."""

    url: str
    asked: list[dict[str, Any]] = field(default_factory=list)
    looked: list[str] = field(default_factory=list)


def models(*names: str, owner: str = "somebody") -> tuple[int, Any]:
    rows = [{"id": name, "object": "model", "owned_by": owner} for name in names]
    return 200, {"object": "list", "data": rows}


def said(text: str, model: str, finish: str = "stop") -> dict[str, Any]:
    """A chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    usage = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
    return {"object": "chat.completion", "model": model, "choices": [choice], "usage": usage}


def plainly(request: Mapping[str, Any]) -> Any:
    """Any name is good, and every setting is ignored."""
    return said("Answer: A", request["model"])


@contextmanager
def odd_server(
    says: Mapping[str, tuple[int, Any]], answers: Answers = plainly, software: str = "uvicorn", port: int = 0
) -> Iterator[Odd]:
    """A server whose other paths are 404."""

    class Door(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def version_string(self) -> str:
            return software

        def do_GET(self) -> None:
            odd.looked.append(self.path)
            self._send(*says.get(self.path, (404, {"detail": "Not Found"})))

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path != "/v1/chat/completions":
                return self._send(404, {"detail": "Not Found"})
            odd.asked.append(request)
            found = answers(request)
            self._send(*(found if isinstance(found, tuple) else (200, found)))
            return None

        def _send(self, status: int, body: Any) -> None:
            octets = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(octets)))
            self.end_headers()
            self.wfile.write(octets)
            # As uvicorn does after an exception: the connection ends, and no header said so.
            self.close_connection = status == 500 or self.close_connection

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Door)
    odd = Odd(f"http://127.0.0.1:{server.server_address[1]}/v1")
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield odd
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
