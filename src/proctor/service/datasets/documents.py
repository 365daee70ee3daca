"""Data sets as JSON: the API and the commands give them alike."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from proctor.service.datasets.kept import Dataset
from proctor.service.datasets.requests import Requests


def document(of: Dataset) -> dict[str, Any]:
    """All of it, with its first rows and how it is understood."""
    return {
        "id": of.id,
        "name": of.name,
        "project_id": of.project_id,
        "holds": "questions",
        "content": of.content,
        "bytes": of.bytes,
        "files": [asdict(each) for each in of.files],
        "layout": asdict(of.layout),
        "found": asdict(of.found),
        "created_at": stamp(of.created_at),
        "created_by": of.created_by,
        "made": of.made,
    }


def line_document(of: Dataset) -> dict[str, Any]:
    """What a list says of it."""
    return {
        "id": of.id,
        "name": of.name,
        "project_id": of.project_id,
        "holds": "questions",
        "format": of.found.format,
        "bytes": of.bytes,
        "rows": of.found.rows,
        "items": of.found.items,
        "answer_type": of.found.answer_type,
        "error": of.found.error,
        "created_at": stamp(of.created_at),
        "created_by": of.created_by,
    }


def requests_document(of: Requests) -> dict[str, Any]:
    """All of it: the four documented fields, and ours beside."""
    found = asdict(of.found)
    return {
        **requests_line(of),
        "reading": asdict(of.reading),
        "lines": of.found.lines,
        "bad": of.found.bad,
        "faults": found["faults"],
        "notes": found["notes"],
        "models": of.found.models,
        "endpoints": of.found.endpoints,
        "gold": of.found.gold,
        "most_tokens": of.found.most_tokens,
        "uncapped": of.found.uncapped,
        "preview": found["first"],
        "schema": {"of": of.found.looked, "fields": found["schema"]},
    }


def requests_line(of: Requests) -> dict[str, Any]:
    """What a list says of it."""
    return {
        "id": of.id,
        "name": of.name,
        "count": of.count,
        "uploaded_at": stamp(of.created_at),
        "format": of.found.format,
        "project_id": of.project_id,
        "bytes": of.bytes,
        "sha256": of.content,
        "uploaded_by": of.created_by,
        "holds": "requests",
    }


def stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
