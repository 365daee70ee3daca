"""Why requests of a batch failed: grouped by HTTP status, code and message, in the server's own words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from proctor.service.context import Context
from proctor.service.results.causes import said
from proctor.store.read import failures
from proctor.store.read.failures import FailureKind
from proctor.types import Run

MOST_READ = 500  # messages of each status and slug
MOST_GROUPS = 20  # of each; rarer ones are counted without their words
_VARIES = re.compile(r"\S*\d\S*")  # words with digits: ids, counts, times


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Failures that are alike but for numbers. `message` is that of the first; None where it was not read.

    `code` is what the server's own answer calls it, else our slug; `slug` is ours.
    """

    status: int | None
    code: str
    slug: str
    message: str | None
    items: int
    first: str | None  # the custom_id of the first of them


def grouped(context: Context, run: Run) -> list[FailureGroup]:
    """The failures of a run, the commonest first. Every failure is counted; words are read of the first of a kind.

    Raises: NotFound.
    """
    found: list[FailureGroup] = []
    for kind in failures.kinds(context.store, run.id):
        read = failures.told(context.store, run.id, kind, limit=MOST_READ)
        found += _alike(kind, read)
    return sorted(found, key=lambda group: -group.items)


def _alike(kind: FailureKind, read: list[tuple[str, dict[str, Any]]]) -> Iterator[FailureGroup]:
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    slug = kind.slug or "unknown"
    for custom_id, record in read:
        words = said(record.get("error") or "")
        code = _code(record) or slug
        groups.setdefault((code, _VARIES.sub("#", words)), []).append((custom_id, words))
    largest = sorted(groups.items(), key=lambda entry: -len(entry[1]))[:MOST_GROUPS]
    for (code, _), alike in largest:
        first, words = alike[0]
        yield FailureGroup(kind.status, code, slug, words, len(alike), first)
    if untold := kind.items - sum(len(alike) for _, alike in largest):
        yield FailureGroup(kind.status, slug, slug, None, untold, None)


def _code(record: Mapping[str, Any]) -> str | None:
    """The server's own code: `error.code`, else `error.type`, of its answer.

    >>> _code({"raw": '{"error": {"code": "too_long", "type": "x"}}'}), _code({"raw": "<html>"}), _code({})
    ('too_long', None, None)
    """
    try:
        answer = json.loads(record.get("raw") or "")
    except (ValueError, RecursionError):
        return None
    error = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(error, dict):
        return None
    code = error.get("code") or error.get("type")
    return str(code) if isinstance(code, str | int) else None
