"""The dashboard: what people say of a batch's replies, and what can be taken away: results, and training data."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from starlette.datastructures import FormData
from starlette.responses import Response, StreamingResponse

from proctor.errors import ConfigError
from proctor.service.batches import labels
from proctor.service.batches.exports import files
from proctor.service.batches.exports.rows import FORMS, ExportWish
from proctor.service.batches.labels import LabelMark, ReplyLabel
from proctor.web.addresses import decoded, request_path
from proctor.web.batches.requests import RequestsQuery, batch_of
from proctor.web.dependencies import Filling, Labeller, OpenContext, Reader, RunId, go, is_fragment
from proctor.web.render import show

ROUTER = APIRouter()
KINDS = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}
MOST_RUNS = 8


@ROUTER.post("/runs/{run_id}/labels")
def put(request: Request, context: OpenContext, user: Labeller, run_id: RunId, form: Filling) -> Response:
    """Say something of a reply; the panel then shows what counts, or a browser without scripts the page again."""
    run = batch_of(context, run_id)
    custom_id = decoded(str(form.get("id64") or ""))
    history = labels.of_row(context, run.id, custom_id)
    labels.put(context, run.id, custom_id, meant(form, history), user=user.name)
    if not is_fragment(request):
        back = str(form.get("back") or "")
        return go(request, request_path(run.id, custom_id) + (back if back.startswith("?") else ""))
    return show(
        request,
        "_label_panel.html",
        run=run,
        custom_id=custom_id,
        labels=labels.of_row(context, run.id, custom_id),
        text=str(form.get("reply") or ""),
    )


def meant(form: FormData, history: list[ReplyLabel]) -> LabelMark:
    """What the form says. The verdict that stands is taken back by saying it again, and kept by saying none."""
    said, before = str(form.get("verdict") or ""), history[0] if history else None
    standing = before.verdict if before else None
    note, tags = str(form.get("note") or ""), tuple(str(form.get("tags") or "").split(","))
    if said == "edited":
        return LabelMark("edited", str(form.get("text") or "").replace("\r\n", "\n"), note, tags)
    if said == "":
        return LabelMark(standing, before.text if before else None, note, tags)
    known = {"good": "good", "bad": "bad", "best": "best"}
    verdict = None if said == standing else known.get(said)
    return LabelMark(verdict, None, note, tags)  # type: ignore[arg-type]  # of a table of verdicts


@ROUTER.get("/batches/export")
def download(
    context: OpenContext,
    user: Reader,
    asked: Annotated[RequestsQuery, Depends()],
    runs: Annotated[list[str], Query(min_length=1, max_length=MOST_RUNS)],
    form: Annotated[str, Query(max_length=10)] = "jsonl",
    which: Annotated[str | None, Query(max_length=10)] = None,
) -> Response:
    """Rows as a file, sent as they are read: results under the filter, or training data of what was labelled."""
    if form not in FORMS:
        raise ConfigError(f"form={form[:20]!r}: choose from {', '.join(FORMS)}")
    found = [batch_of(context, each) for each in runs]
    wish = ExportWish(form=form, which=which, rows=asked.wanted()).checked()  # type: ignore[arg-type]  # checked here
    headers = {"Content-Disposition": f'attachment; filename="{files.file_name(found, wish)}"'}
    kind = KINDS.get(form, "application/x-ndjson")
    return StreamingResponse(files.chunks(context, found, wish), media_type=kind, headers=headers)
