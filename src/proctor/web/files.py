"""Lists of runs as files: one record a run, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import time
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any

from fastapi import Request
from starlette.responses import Response

from proctor.figures import inert, left_out
from proctor.service.watch.job_states import RunLine
from proctor.service.watch.overview import HEADLINE, Shown

# What a document of ours may do in a browser: be drawn with its own style. `under` puts it in the place of the
# pages' policy, which would let no style inside it count.
_DRAWN = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
DOCUMENT_POLICY = {"Content-Security-Policy": f"{_DRAWN}; frame-ancestors 'none'"}
# Anyone who has the link may show it in a page of their own; no search engine lists it, no link in it tells of it.
SHARED_POLICY = {
    "Content-Security-Policy": f"{_DRAWN}; frame-ancestors *",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
    "Cache-Control": "no-store",
}


def line_record(line: RunLine, found: Mapping[str, Shown]) -> dict[str, Any]:
    """`score` is the run's headline; `accuracy` and `f1` are of complete runs only."""
    headline = found.get(HEADLINE)
    whole = found if line.complete else {}
    return {
        "job_id": line.id,
        "model": line.full_model,
        "suite": line.source,
        "status": "partial" if line.status == "completed" and line.partial else line.status,
        "sample_data": line.sample,
        "left_out": left_out(line.source_title or ""),
        "settled": line.settled,
        "planned": line.planned,
        "not_measured": line.unmeasured,
        "score_name": headline.metric if headline else None,
        **_figures(HEADLINE, found),
        **_figures("accuracy", whole),
        **_figures("f1", whole),
        "created_at": _moment(line.created_at),
        "completed_at": _moment(line.finished_at),
        "project_id": line.project_id,
        "error": line.error,
    }


def _moment(at: float | None) -> str | None:
    """ISO 8601 in UTC to the second, as the API writes it: programs read these files, and sort by it.

    >>> _moment(1765140917.4), _moment(None)
    ('2025-12-07T20:55:17Z', None)
    """
    return None if at is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def _figures(metric: str, found: Mapping[str, Shown]) -> dict[str, float | None]:
    of = found.get(metric)
    ends = (of.value, of.low, of.high) if of else (None, None, None)
    return dict(zip((metric, f"{metric}_low", f"{metric}_high"), ends, strict=True))


def as_csv(records: Sequence[Mapping[str, Any]]) -> str:
    out = StringIO()
    if records:
        writer = csv.DictWriter(out, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: inert(value) for name, value in record.items()} for record in records)
    return out.getvalue()


def as_file(text: str, name: str, kind: str = "text/html") -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=kind, headers=headers)


def as_report(request: Request, html: str, name: str) -> Response:
    """A report as a file; with `?view=1` as a page of its own, which runs and loads nothing."""
    if request.query_params.get("view") != "1":
        return as_file(html, name)
    return under(request, DOCUMENT_POLICY, Response(html, media_type="text/html"))


def under(request: Request, policy: Mapping[str, str], answer: Response) -> Response:
    """The answer with these headers where the guard would put those of all pages."""
    request.scope["state"]["headers"] = policy
    return answer
