"""Looking at an uploaded file within bounds of memory and time: if it is packed or large, by a process of its own.

A file may come from anybody, and readers of packed formats abort, or unpack without end, when it was made for that.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from proctor.errors import DataError, ProctorError
from proctor.service.datasets.layout import Findings, Layout, findings_from, layout_from, to_json
from proctor.service.datasets.reading import Found, Reading, found_from, reading_from, reading_json

PACKED = (b"PK\x03\x04", b"PAR1")
SMALL_BYTES = 300_000  # of text, which is sooner looked at here than a process is started
LOOK_S = 120.0
LOOK_BYTES_PER_S = 2_000_000  # of requests, by the slowest machine
MOST_LOOK_S = 1200.0
LOOK_MEMORY_BYTES = 4 * 2**30


def bounded_look(path: Path, layout: Layout) -> Findings:
    """What is in a file of questions, as a server looks at it. Raises: DataError."""
    with path.open("rb") as file:
        packed = file.read(4) in PACKED
    large = sum(each.stat().st_size for each in path.parent.iterdir()) > SMALL_BYTES
    suite = path.suffix.lower() == ".toml"  # whose files may be of any kind
    return look_apart(path, layout) if packed or large or suite else _questions(path, layout)


def look_apart(path: Path, layout: Layout) -> Findings:
    """The same, by a process that may use so much memory and time. Raises: DataError."""
    asked = {"path": str(path), "layout": to_json(layout)}
    return findings_from(_found_apart(asked, path.name, LOOK_S))


def look_at_file_of_requests(path: Path, reading: Reading, *, named: str) -> Found:
    """What is in a file of requests, which is called so by its user. Raises: DataError, ConfigError."""
    size = path.stat().st_size
    with path.open("rb") as file:
        packed = file.read(4) in PACKED
    if not packed and size <= SMALL_BYTES:
        return _requests(path, reading, named)
    asked = {"path": str(path), "reading": reading_json(reading), "named": named}
    return found_from(_found_apart(asked, named, LOOK_S + size / LOOK_BYTES_PER_S))


def _found_apart(asked: Mapping[str, str], named: str, seconds: float) -> str:
    """What a process of its own found, as JSON. Raises: DataError."""
    command = [sys.executable, "-m", "proctor", "look-at"]
    try:
        done = subprocess.run(
            command, input=json.dumps(asked).encode(), capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise DataError(
            f"{named}: not read after {seconds:.0f} seconds. Split it, or save it as JSON lines."
        ) from None
    if done.returncode != 0 or not done.stdout:
        raise DataError(
            f"{named}: reading it took more than {LOOK_MEMORY_BYTES // 2**30} GiB of memory, or broke its reader. "
            "Split it, or save it as JSON lines or CSV (UTF-8)."
        )
    told = json.loads(done.stdout)
    if told["error"] is not None:
        raise DataError(told["error"])
    found: str = told["found"]
    return found


def answer(asked: bytes) -> bytes:
    """What that process writes, for what it read."""
    record = json.loads(asked)
    path = Path(record["path"])
    try:
        if "reading" in record:
            found = reading_json(_requests(path, reading_from(record["reading"]), record["named"]))
        else:
            found = to_json(_questions(path, layout_from(record["layout"])))
    except ProctorError as error:
        return json.dumps({"error": str(error), "found": None}).encode()
    return json.dumps({"error": None, "found": found}).encode()


# Each kind of look is imported where it is taken: the process begins sooner without what the other one needs.


def _questions(path: Path, layout: Layout) -> Findings:
    from proctor.service.datasets.look import look

    return look(path, layout)


def _requests(path: Path, reading: Reading, named: str) -> Found:
    from proctor.service.datasets.looked import look_at_requests

    return look_at_requests(path, reading, named=named)
