"""The dashboard: one model across exams, batches, rollouts and judging."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.responses import HTMLResponse

from proctor.errors import NotFound
from proctor.service.opening.catalogue import brand, provider_status
from proctor.service.watch.models import Kind, ModelPage, ModelRun, catalogue, model_page
from proctor.web.dependencies import OpenContext, Reader
from proctor.web.render import interval, show, stamp

ROUTER = APIRouter()
SHOWN = 12
MOST_SOURCES = 6
WIDE, HIGH, EDGE = 160.0, 36.0, 4.0  # of the picture of a trend
MOST_POINTS = 30
NAMED: Mapping[Kind, tuple[str, str]] = {
    "questions": ("exam", "exams"),
    "requests": ("batch", "batches"),
    "tasks": ("benchmark of tasks", "benchmarks of tasks"),
    "verdicts": ("judging", "judgings"),
}


@dataclass(frozen=True, slots=True)
class ScorePoint:
    """A run in the picture of a trend: where it is drawn, with the ends of its interval, and what is said of it."""

    x: float
    y: float
    low: float | None
    high: float | None
    said: str


@ROUTER.get("/models/{provider}/{name:path}")
def model_of(
    request: Request,
    context: OpenContext,
    user: Reader,
    provider: Annotated[str, Path(max_length=50)],
    name: Annotated[str, Path(max_length=300)],
) -> HTMLResponse:
    found = model_page(context, provider, name)
    status = {each.name: each for each in provider_status(context.settings)}
    if not found.runs and provider not in status:
        raise NotFound(f"No provider {provider}, and no run of {provider}/{name}")
    return show(
        request,
        "model.html",
        here="models",
        of=found,
        model=found.name,
        provider=brand(provider),
        key_set=status[provider].key_set if provider in status else None,
        known_provider=provider in status,
        exams=[(line, _picture(line.points)) for line in found.exams],
        others=_others(context, found),
        shown=found.runs[:SHOWN],
        sources=list(dict.fromkeys(each.row.source for each in found.of("questions")))[:MOST_SOURCES],
        failed_share=found.failed / (found.settled + found.failed) if found.settled + found.failed else None,
        kinds=[(what, count) for holds, what in NAMED.items() if (count := len(found.of(holds)))],
    )


def _others(context: OpenContext, of: ModelPage) -> list[tuple[str, str]]:
    """Models that share a kind of exam with it: (name, of which exam), to compare with."""
    mine = {line.latest.row.comparability: line.source for line in of.exams}
    found: list[tuple[str, str]] = []
    for each in catalogue(context).models:
        shared = [score.source for score in each.scores.values() if score.comparability in mine]
        if shared and each.name != of.name:
            found.append((each.name, shared[0]))
    return found


def _picture(points: Sequence[ModelRun]) -> list[ScorePoint]:
    """Scores from the oldest run to the newest, from the lowest end of an interval to the highest."""
    told = [each.row for each in points[-MOST_POINTS:] if each.row.value is not None]
    ends = [end for row in told for end in (row.value, row.low, row.high) if end is not None]
    if len(told) < 2:
        return []
    low, span = min(ends), max(ends) - min(ends) or 1.0

    def place(value: float) -> float:
        return round(HIGH - EDGE - (HIGH - 2 * EDGE) * (value - low) / span, 2)

    def of(index: int, row: Any) -> ScorePoint:
        x = round(EDGE + (WIDE - 2 * EDGE) * index / (len(told) - 1), 2)
        said = f"{row.value:.3f} {interval(row)} {stamp(row.finished_at)}"
        ends = [None if end is None else place(end) for end in (row.low, row.high)]
        return ScorePoint(x, place(row.value), ends[0], ends[1], said)

    return [of(index, row) for index, row in enumerate(told)]
