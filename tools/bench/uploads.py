"""A file of 100,000 requests uploaded to a server, beside `orjson` parsing the lines of the same file.

    python uploads.py FOLDER ROUNDS

Prints one JSON object of seconds by round: from the first byte of the form to the answer, by which the file is on the
disk, hashed and checked line by line; and the parsing alone. Each round has a file of its own content.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import orjson

LINES = 100_000
BOUNDARY = "0f0a2b77bench"


def written(path: Path, number: int) -> Path:
    with path.open("w") as file:
        for line in range(LINES):
            said = f"Round {number}: candidate {line % 500} wrote so much about row {line}. " * 3
            body = {"model": "sim", "messages": [{"role": "user", "content": said}], "max_tokens": 200}
            record = {"custom_id": f"c{number}-{line}", "method": "POST", "url": "/v1/chat/completions"}
            file.write(json.dumps({**record, "body": body}) + "\n")
    return path


def parsed_s(path: Path) -> float:
    start = time.perf_counter()
    with path.open("rb") as file:
        for line in file:
            orjson.loads(line)
    return time.perf_counter() - start


def uploaded_s(port: int, path: Path) -> float:
    head = (
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{path.name}"\r\n'
        "Content-Type: application/jsonl\r\n\r\n"
    ).encode()
    form = head + path.read_bytes() + f"\r\n--{BOUNDARY}--\r\n".encode()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    start = time.perf_counter()
    headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    connection.request("POST", "/admin/datasets/upload", form, headers)
    answer = connection.getresponse()
    told = json.loads(answer.read())
    took = time.perf_counter() - start
    connection.close()
    if answer.status >= 300 or told["count"] != LINES:
        raise SystemExit(f"{path.name}: {answer.status} {told}")
    return took


def main(folder: Path, rounds: int) -> None:
    environ = {**os.environ, "PROCTOR_HOME": str(folder / "uploads")}
    server = subprocess.Popen(
        [sys.executable, "-m", "proctor", "serve", "--port", "0"],
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
    )
    found: dict[str, list[float]] = {"upload_s": [], "orjson_s": []}
    try:
        assert server.stdout is not None
        address = server.stdout.readline().split("http://")[1].split("/")[0].split()[0]
        for number in range(rounds):
            path = written(folder / f"upload{number}.jsonl", number)
            found["orjson_s"].append(parsed_s(path))
            found["upload_s"].append(uploaded_s(int(address.rpartition(":")[2]), path))
            path.unlink()
    finally:
        server.terminate()
        server.wait(timeout=30)
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
