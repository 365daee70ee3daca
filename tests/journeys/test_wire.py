"""What leaves the machine in a whole run: the prompt and the sampling, and nothing that would give the answer away."""

from __future__ import annotations

import json
import select
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from proctor.service.opening.simulate import known_answers
from proctor.simulator import spawn
from programs import proctor, proctor_json
from simulators import settings

pytestmark = pytest.mark.slow  # whole commands and runs; make test-fast leaves them out

HEADERS = {
    "host",
    "accept",
    "accept-encoding",
    "user-agent",
    "content-type",
    "content-length",
    "authorization",
    "connection",  # a look closes its own
}
FIELDS = {
    "openai": {"model", "messages", "temperature", "max_tokens", "seed"},
    "ollama": {"model", "messages", "stream", "options", "truncate", "shift"},
}
OPTIONS = {"temperature", "seed", "num_predict", "num_ctx"}


class _Relay(socketserver.BaseRequestHandler):
    """Passes bytes on in both directions and keeps those of the client."""

    def handle(self) -> None:
        kept = bytearray()
        self.server.sent.append(kept)
        with socket.create_connection(("127.0.0.1", self.server.upstream)) as upstream:
            ends = {self.request: upstream, upstream: self.request}
            while True:
                for end in select.select(list(ends), [], [])[0]:
                    data = end.recv(65536)
                    if not data:
                        return
                    if end is self.request:
                        kept += data
                    ends[end].sendall(data)


@contextmanager
def recorder(port: int) -> Iterator[tuple[int, list[bytearray]]]:
    """A TCP proxy that keeps every byte that clients send, one list entry a connection."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Relay) as server:
        server.sent, server.upstream = [], port
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1], server.sent
        finally:
            server.shutdown()
            thread.join()


def requests(connections: list[bytearray]) -> Iterator[tuple[str, dict[str, str], bytes]]:
    """(request line, headers, body) of each request on each connection."""
    for stream in connections:
        rest = bytes(stream)
        while rest:
            head, _, rest = rest.partition(b"\r\n\r\n")
            line, *fields = head.decode("latin-1").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (f.partition(":") for f in fields)}
            length = int(headers.get("content-length", 0))
            yield line, headers, rest[:length]
            rest = rest[length:]


@pytest.mark.parametrize("shape", ["openai", "ollama"])
def test_no_request_carries_more_than_a_real_provider_would_get(tmp_path: Path, shape: str):
    file = tmp_path / "secretive.jsonl"
    rows = [
        {"id": f"row-id-{i}", "question": f"Which is the {i}th letter?", "choices": ["uno", "dos", "tres"],
         "answer": "ABC"[i % 3], "remark": f"remark-{i}"}
        for i in range(30)
    ]  # fmt: skip
    file.write_text("\n".join(map(json.dumps, rows)))
    with (
        spawn([], known_answers(settings(tmp_path), [file])) as server,
        recorder(int(server.url.rpartition(":")[2])) as (port, connections),
    ):
        url = f"http://127.0.0.1:{port}" + ("/v1" if shape == "openai" else "")
        document = proctor_json(
            tmp_path, "run", str(file), "--model", f"{shape}/sim-perfect", "--base-url", url,
            OPENAI_API_KEY="key-for-the-test",
        )  # fmt: skip
        sent = list(requests(connections))
    run = document["runs"][0]
    assert run["score"]["value"] == 1.0, "the simulator knows the answers from the prompts alone"
    shown = [json.loads(body) for line, _, body in sent if line.startswith("POST /api/show")]
    assert shown == ([{"model": "sim-perfect"}] if shape == "ollama" else []), "how much context it can have"
    posts = [one for one in sent if one[0].startswith("POST") and "/api/show" not in one[0]]
    assert len(posts) == 30 + (shape == "ollama"), "one request an item, and Ollama's model load"
    for line, headers, body in sent:
        assert headers.keys() <= HEADERS, line
        for word in (b"row-id", b"remark", b"target", b"secretive", run["run_id"].encode(), b"proctor"):
            assert word not in body and word.decode() not in line
        assert ("authorization" in headers) == (shape == "openai")
    for _, _, body in posts:
        record = json.loads(body)
        assert record.keys() <= FIELDS[shape]
        assert record.get("options", {}).keys() <= OPTIONS
        for message in record["messages"]:
            assert message.keys() == {"role", "content"}
    prompts = [json.loads(b)["messages"][0]["content"] for _, _, b in posts if json.loads(b)["messages"]]
    assert len(set(prompts)) == 30
    # Every prompt asks for the same last line: nothing in it tells which letter is right.
    assert {p.rpartition("\n")[2] for p in prompts} == {"Answer: <letter>"}


@pytest.mark.promise("A-29")
def test_no_key_reaches_database_logs_or_output(tmp_path: Path):
    key = "sk-very-secret-000111222"
    file = tmp_path / "q.csv"
    file.write_text("question,answer\nWhat is 1+1?,2\nWhat is 2+2?,4\n")
    with spawn(["--key", "another"], known_answers(settings(tmp_path), [file])) as server:
        refused = proctor(
            tmp_path, "run", str(file), "--model", "openai/sim", "--base-url", f"{server.url}/v1",
            code=5, OPENAI_API_KEY=key,
        )  # fmt: skip
    assert "OPENAI_API_KEY" in refused.stderr
    with spawn(["--key", key], known_answers(settings(tmp_path), [file])) as server:
        proctor(
            tmp_path, "run", str(file), "--model", "openai/sim", "--base-url", f"{server.url}/v1",
            OPENAI_API_KEY=key,
        )  # fmt: skip
    assert key not in refused.stdout + refused.stderr
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert key.encode() not in path.read_bytes(), path


@pytest.mark.promise("A-04")
@pytest.mark.promise("G-34")
def test_every_ollama_parameter_reaches_the_server(tmp_path: Path):
    file = tmp_path / "q.csv"
    file.write_text("question,answer\nWhat is 1+1?,2\n")
    given = {
        "temperature": 0.7, "top_p": 0.9, "top_k": 40, "min_p": 0.05, "repeat_penalty": 1.1,
        "repeat_last_n": 32, "max_tokens": 99, "context_tokens": 4096, "seed": 7,
    }  # fmt: skip
    words = [word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    with (
        spawn([], known_answers(settings(tmp_path), [file])) as server,
        recorder(int(server.url.rpartition(":")[2])) as (port, connections),
    ):
        url = f"http://127.0.0.1:{port}"
        more = ["--stop", "END", "--think", "off", *words]
        proctor(tmp_path, "run", str(file), "--model", "ollama/sim", *more, OLLAMA_HOST=url)
        load, asked = (
            json.loads(body) for line, _, body in requests(connections) if line.startswith("POST /api/chat")
        )
    theirs = {**given, "num_predict": 99, "num_ctx": 4096, "stop": ["END"]}
    del theirs["max_tokens"], theirs["context_tokens"]
    assert asked["options"] == theirs
    assert load["options"]["num_ctx"] == 4096, "another context size would load the model a second time"
    assert (asked["think"], asked["truncate"], asked["shift"], asked["stream"]) == (
        False,
        False,
        False,
        False,
    )
