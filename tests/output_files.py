"""Output files of batches as other tools write them, for tests of comparing and importing them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def chat(text: str | None, finish: str = "stop", **more: Any) -> dict[str, Any]:
    """The body of a chat completion."""
    message = {"role": "assistant", "content": text, **more}
    choices = [{"index": 0, "message": message, "finish_reason": finish}]
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1_730_000_000,
        "model": "m-1",
        "choices": choices,
        "usage": usage,
    }


def line(custom_id: str, body: Any, status: int = 200, error: Any = None) -> dict[str, Any]:
    response = {"status_code": status, "request_id": f"req-{custom_id}", "body": body}
    return {"id": f"batch_req_{custom_id}", "custom_id": custom_id, "response": response, "error": error}


def refused(custom_id: str, status: int = 400) -> dict[str, Any]:
    """As OpenAI writes a refusal: a response, and no error beside it."""
    return line(
        custom_id, {"error": {"message": "too long", "type": "invalid_request_error", "code": "ctx"}}, status
    )


def request(custom_id: str, text: str, **body: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": text}]
    return {
        "custom_id": custom_id,
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {"model": "m", "messages": messages, **body},
    }


def file_of(path: Path, lines: Iterable[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in lines),
        encoding="utf-8",
    )
    return path


def answers(path: Path, said: Mapping[str, str | None]) -> Path:
    """An output file: a text for each request, None for one that was refused."""
    return file_of(
        path, [refused(name) if text is None else line(name, chat(text)) for name, text in said.items()]
    )
