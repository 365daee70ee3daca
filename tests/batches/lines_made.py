"""Files of requests for tests: made ones, and the real ones that lie beside the project."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from proctor.references import BatchRef
from proctor.sources.batches.check import check
from proctor.sources.batches.checked import SENDABLE, CheckedFile, Rules
from proctor.sources.batches.source import BatchSource, open_batch

CHAT = "/v1/chat/completions"
REAL = Path(__file__).parents[3] / "shared" / "data" / "openai_batch"


def real_inputs() -> list[Path]:
    """Files that people sent to real services. Skips the test where they are not at hand."""
    found = [
        path
        for path in sorted(
            (Path("/work/shared/data/openai_batch") if not REAL.is_dir() else REAL).rglob("*.jsonl")
        )
        if "output" not in path.name
    ]
    if not found:
        pytest.skip("shared/data/openai_batch is not here")
    return found


def line(custom_id: str = "r1", text: str = "hello", url: str = CHAT, **body: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": text}]
    return {
        "custom_id": custom_id,
        "method": "POST",
        "url": url,
        "body": {"model": "m", "messages": messages, **body},
    }


def write(path: Path, lines: Iterable[dict[str, Any] | bytes], end: bytes = b"\n") -> Path:
    texts = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in lines]
    path.write_bytes(b"".join(text + end for text in texts))
    return path


def checked(path: Path, rules: Rules = SENDABLE, **given: Any) -> CheckedFile:
    return check(path, BatchRef(str(path), **given), rules)


def opened(path: Path, **given: Any) -> BatchSource:
    return open_batch(BatchRef(str(path), **given), path)
