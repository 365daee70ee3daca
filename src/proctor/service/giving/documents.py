"""The document behind a page's address: one HTML file, made within the reach of whoever gives it away."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs, urlencode, urlsplit

from proctor.errors import ConfigError, MetricMissing
from proctor.service.context import Context, runs_named
from proctor.service.data.transfer import report
from proctor.service.evidence.board_report import board_report
from proctor.service.watch import job_states
from proctor.service.watch.overview import board_suite
from proctor.types import Run

MOST_RUNS = 20
MOST_ADDRESS = 2_000
MOST_PLACES = 100  # of a board
_ID = r"[0-9a-f-]{4,36}"


@dataclass(frozen=True, slots=True)
class Document:
    """`projects` are those whose rows are in it; None is all there are."""

    kind: str
    title: str
    address: str
    html: str
    projects: frozenset[int] | None


def document_of(context: Context, address: str) -> Document:
    """What a page shows, as a file. Raises ConfigError for a page that cannot be given away, NotFound."""
    parts = urlsplit(address)
    if len(address) <= MOST_ADDRESS and not (parts.scheme or parts.netloc):
        for pattern, make in _MAKERS:
            if found := pattern.fullmatch(parts.path):
                return make(context, found["id"] if "id" in found.groupdict() else "", parse_qs(parts.query))
    raise ConfigError(
        f"{address[:100]!r} cannot be given away: open a run, a comparison, a leaderboard or a benchmark of tasks"
    )


def _of_run(context: Context, ident: str, _: dict[str, list[str]]) -> Document:
    run = job_states.run_of(context, ident)
    return _of_runs(context, "run", f"{run.cell.model} on {run.source_title}", f"/runs/{run.id}", [run])


def _of_pair(context: Context, _: str, asked: dict[str, list[str]]) -> Document:
    names = asked.get("runs", [])
    if not 2 <= len(names) <= MOST_RUNS:
        raise ConfigError(f"runs: a comparison has 2 to {MOST_RUNS} runs")
    runs = runs_named(context, names)
    address = "/compare?" + urlencode({"runs": [run.id for run in runs]}, doseq=True)
    return _of_runs(context, "comparison", _titled(runs), address, runs)


def _of_tasks(context: Context, ident: str, _: dict[str, list[str]]) -> Document:
    runs = runs_named(context, [ident])
    return _of_runs(context, "rollouts", _titled(runs), f"/rollouts/{ident}", runs)


def _of_board(context: Context, _: str, asked: dict[str, list[str]]) -> Document:
    said = {name: values[0] for name, values in asked.items()}
    project = _number(said.get("project"))
    suite = said.get("suite") or board_suite(context, project)
    limit = min(_number(said.get("limit")) or 10, MOST_PLACES)
    metric = said.get("metric", "")
    try:
        html = board_report(context, suite, metric or "accuracy", limit, project)
    except MetricMissing:
        if metric:
            raise
        metric = "score"
        html = board_report(context, suite, metric, limit, project)
    told = {"suite": suite, "metric": metric, "limit": limit, "project": project}
    address = "/leaderboard?" + urlencode({name: value for name, value in told.items() if value})
    projects = context.reach.projects if project is None else frozenset({project})
    return Document("board", f"Leaderboard of {suite}", address, html, projects)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdecimal() and 0 < int(text[:10]) < 2**31 else None


def _titled(runs: Sequence[Run]) -> str:
    models = " and ".join(dict.fromkeys(str(run.cell.model) for run in runs[:4]))
    more = f" and {len(runs) - 4} more" if len(runs) > 4 else ""
    return f"{models}{more} on {runs[0].source_title}"


def _of_runs(context: Context, kind: str, title: str, address: str, runs: Sequence[Run]) -> Document:
    html = report(context, [run.id for run in runs], "html")
    projects = frozenset(job_states.project_of(context, run.id) for run in runs)
    return Document(kind, title, address, html, projects)


_Make = Callable[[Context, str, dict[str, list[str]]], Document]
_MAKERS: tuple[tuple[re.Pattern[str], _Make], ...] = (
    (re.compile(rf"/runs/(?P<id>{_ID})(/results|/requests)?"), _of_run),
    (re.compile(r"/(batches/)?compare"), _of_pair),
    (re.compile(r"/leaderboard"), _of_board),
    (re.compile(rf"/rollouts/(?P<id>{_ID})"), _of_tasks),
)
