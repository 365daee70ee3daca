"""Files that a test uploads, and the form that brings them."""

from __future__ import annotations

import io
import json
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any

from served import Answer, Server, _read

DATASETS = "/api/v1/datasets"
BOUNDARY = "between-the-parts"


def csv_of(rows: int, *, question: str = "question", answer: str = "answer") -> bytes:
    lines = [f"{question},{answer}", *(f"What is {n} plus {n}?,{2 * n}" for n in range(rows))]
    return "\n".join(lines).encode()


def workbook(rows: Sequence[Sequence[Any]], *, title: str = "Questions", more: Any = None) -> bytes:
    """An XLSX of these rows; `more` may add to the book before it is saved."""
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    sheet.title = title
    for row in rows:
        sheet.append(list(row))
    if more is not None:
        more(book)
    kept = io.BytesIO()
    book.save(kept)
    return kept.getvalue()


def form(files: Sequence[tuple[str, bytes]], **fields: Any) -> bytes:
    """The body of a multipart form; fields that are no text go as JSON."""
    parts = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'.encode()
        + (value if isinstance(value, str) else json.dumps(value)).encode()
        + b"\r\n"
        for name, value in fields.items()
    ]
    parts += [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'.encode()
        + b"Content-Type: application/octet-stream\r\n\r\n"
        + body
        + b"\r\n"
        for name, body in files
    ]
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


def upload(
    server: Server,
    *files: tuple[str, bytes],
    at: str = DATASETS,
    headers: dict[str, str] | None = None,
    **fields: Any,
) -> Answer:
    request = urllib.request.Request(server.url + at, form(files, **fields), method="POST")
    kind = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    for name, value in {**kind, **(headers or {})}.items():
        request.add_header(name, value)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return Answer(answer.status, _read(answer), answer.headers)
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, _read(error), error.headers)
