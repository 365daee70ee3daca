"""Which of the two a file that is dropped on the page holds, questions or requests, by what stands in it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import orjson

from proctor.service.datasets.arriving import Arrived

HEAD_BYTES = 2**20
OF_REQUESTS = (
    "custom_id",
    "messages",
    "prompt",
)  # none of which a file of questions with right answers is known by
OF_QUESTIONS = ("question", "answer", "target")


def holds_requests(files: Sequence[Arrived]) -> bool:
    """Of what has come; see `paths_hold_requests`."""
    return paths_hold_requests([each.path for each in files])


def paths_hold_requests(files: Sequence[Path]) -> bool:
    """True for one file whose first line is a request in any dialect, or begins a table with a column `custom_id`."""
    if len(files) != 1:
        return False
    with files[0].open("rb") as file:
        head = file.read(HEAD_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip()
    first = head.partition(b"\n")[0]
    try:
        record = orjson.loads(first)
    except orjson.JSONDecodeError:
        # A line that is no JSON, or not whole within its first megabyte.
        return b"custom_id" in first and not head.startswith((b"PK", b"PAR1"))
    if not isinstance(record, dict):
        return False
    return any(name in record for name in OF_REQUESTS) and not any(name in record for name in OF_QUESTIONS)
