"""Files of requests that tests make, in OpenAI's batch format."""

from __future__ import annotations

import json


def line(custom_id: str, prompt: str = "Hi") -> bytes:
    body = {"model": "m", "messages": [{"role": "user", "content": prompt}]}
    record = {"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": body}
    return json.dumps(record).encode() + b"\n"


def lines(count: int, prompt: str = "Hi") -> bytes:
    return b"".join(line(f"request-{number}", prompt) for number in range(count))
