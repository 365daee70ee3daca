"""Addresses of trials as the dashboard has them, and files that are handed out of them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Query
from starlette.responses import Response

from proctor.service.rollouts.trial import TrialName
from proctor.web.dependencies import RunId
from proctor.web.rollouts.benchmark import Ident

Rollout = Annotated[int, Path(ge=0, le=2**31 - 1)]
TaskId = Annotated[str, Query(max_length=2_000)]
Try = Annotated[int | None, Query(ge=0, le=2**31 - 1)]
HERE = "/rollouts/{ident}/trials/{run_id}/{rollout}"


def _name(ident: Ident, run_id: RunId, rollout: Rollout, task: TaskId) -> TrialName:
    return TrialName(ident, run_id, task, rollout)


Named = Annotated[TrialName, Depends(_name)]


def file_headers(name: str) -> dict[str, str]:
    """Of what is to be kept, and never shown by the browser itself: agents and models wrote it."""
    return {"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"}


def as_file(body: bytes, name: str) -> Response:
    return Response(body, media_type="application/octet-stream", headers=file_headers(name))
