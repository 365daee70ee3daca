"""Figures of benchmarks of tasks, for pages: what each row shows, and which is better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from proctor.errors import ConfigError
from proctor.findings.heat import HeatRow
from proctor.service.context import Context
from proctor.service.evidence.cache import Lately
from proctor.service.evidence.short import in_short
from proctor.service.evidence.standing import standing
from proctor.service.rollouts.benchmark import RolloutBenchmark
from proctor.service.rollouts.heat import heat_of
from proctor.service.watch import job_states
from proctor.trial_findings import RunTrials
from proctor.web.addresses import query
from proctor.web.heat import HeatAsked, HeatPlace, HeatView, heat_view


def figures_of(context: Context, of: RolloutBenchmark) -> Mapping[str, RunTrials]:
    """What each row shows by now, by its run; nothing of one that has no verdict yet."""
    told = [row.run for row in of.rows if row.ended + row.errors]
    return {run: Lately(context).trials(job_states.run_of(context, run)) for run in told}


def verdict_of(context: Context, of: RolloutBenchmark) -> tuple[str, str]:
    """Which row is better, as far as that is shown, in one line and with its statistics.

    Both are "" while they are at work, and of one row alone; the second where nothing could be compared.
    """
    runs = [row.run for row in of.rows if row.ended]
    if not of.line.over or len(runs) < 2:
        return "", ""
    try:
        found = Lately(context).compared(tuple(runs), items=1).evaluation
    except ConfigError as error:
        return f"Not compared. {error}.", ""
    return in_short(found, standing(found, "score")), found.verdict


def tasks_heat(
    context: Context, of: RolloutBenchmark, drawn: HeatAsked, asked: Mapping[str, Any], most: int
) -> HeatView:
    """Tasks by agents of the part that is asked for, `most` rows at most; a cell leads to its trials."""
    found = heat_of(context, of)
    labels = {row.run: row.label for row in of.rows}
    words, agent = str(asked.get("task", "")).casefold().strip(), asked.get("agent")
    places = [n for n, column in enumerate(found.columns) if not agent or labels[column.key] == agent]
    rows = [
        replace(row, cells=tuple(row.cells[n] for n in places))
        for row in found.rows
        if words in row.key.casefold()
    ]
    wide = sorted(rows, key=lambda row: -1.0 if row.gap is None else row.gap, reverse=True)[:most]
    left = (f"The {most} tasks with the widest gaps of {len(rows):,}.",) if len(rows) > most else ()
    part = replace(
        found, columns=tuple(found.columns[n] for n in places), rows=tuple(wide), notes=(*found.notes, *left)
    )

    def trials(row: HeatRow, run: str) -> str:
        return f"/rollouts/{of.id}/trials" + query({"agent": labels[run], "task": row.key})

    def gap(row: HeatRow, best: str, worst: str) -> str:
        return f"/rollouts/{of.id}/trials" + query({"task": row.key})

    return heat_view(part, drawn, HeatPlace(f"/rollouts/{of.id}", {**asked, "view": "heat"}, trials, gap))
