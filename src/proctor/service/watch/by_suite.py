"""Models by suites: of each model the latest complete run of each source that most models were asked alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proctor.findings.heat import Heat, HeatCell, HeatColumn, HeatRow
from proctor.service.context import Context
from proctor.service.watch.job_states import RunFilter, RunLine
from proctor.store.read import history, lists
from proctor.store.read.history import HEADLINE, Shown
from proctor.types import Status

NOTE = (
    "Each cell is the headline of the model's latest complete run, among the runs of a suite that were asked in the "
    "way that most models share; runs on sample rows only where a suite has no others."
)


def by_suite(context: Context, *, most: int = 10, project_id: int | None = None) -> Heat:
    """Sources by models: those models first that have most of them, `most` at most; empty where nothing has ended."""
    wanted = RunFilter(status=Status.COMPLETED, project_id=project_id, graded=True)
    lines = [line for line in lists.run_lines(context.store, wanted, limit=None)[0] if line.complete]
    chosen = _chosen(lines)
    found, _ = history.figures(context.store, [line.id for line in chosen.values()], (HEADLINE,), extras=())
    chosen = {key: line for key, line in chosen.items() if _shown(found, line) is not None}
    models = sorted({model for _, model in chosen}, key=lambda model: (-_suites(chosen, model), model))
    rows = []
    for source in dict.fromkeys(source for source, _ in chosen):
        of = {model: line for (where, model), line in chosen.items() if where == source}
        figures = {model: _shown(found, line) for model, line in of.items()}
        metric = next((figure.metric for figure in figures.values() if figure), "")
        cells = tuple(_cell(of.get(model), figures.get(model)) for model in models[:most])
        note = "sample data" if any(line.sample for line in of.values()) else ""
        rows.append(HeatRow(source, source, metric, cells, note))
    left = len(models) - most
    notes = (NOTE, f"{left:,} more models are not shown.") if left > 0 else (NOTE,)
    return Heat(tuple(HeatColumn(model, model) for model in models[:most]), tuple(rows), notes=notes)


Chosen = dict[tuple[str, str], RunLine]  # by source and model


def _shown(found: Mapping[str, Mapping[str, Shown]], line: RunLine) -> Shown | None:
    """The kept headline of a run, where it has a value."""
    of = found.get(line.id, {}).get(HEADLINE)
    return of if of is not None and of.value is not None else None


def _suites(chosen: Chosen, model: str) -> int:
    return sum(1 for _, each in chosen if each == model)


def _chosen(lines: Sequence[RunLine]) -> Chosen:
    """Of lines that come newest first: of each source the way of asking that most models share, then the newest."""
    by_source: dict[str, list[RunLine]] = {}
    for line in lines:
        by_source.setdefault(line.source, []).append(line)
    found: Chosen = {}
    for source, every in by_source.items():
        real = [line for line in every if not line.sample] or every
        ways: dict[str | None, list[RunLine]] = {}
        for line in real:
            ways.setdefault(line.comparability, []).append(line)
        usual = max(
            ways.values(), key=lambda way: (len({line.full_model for line in way}), way[0].created_at)
        )
        for line in usual:
            found.setdefault((source, line.full_model), line)
    return found


def _cell(line: RunLine | None, of: Shown | None) -> HeatCell:
    if line is None or of is None:
        return HeatCell(None, why="no complete run that was asked in this way")
    return HeatCell(of.value, of.low, of.high, of.scored, run_id=line.id)
