"""What models scored task by task, as a heat map: read off kept scores, or off the items that all of them share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proctor.findings import Comparison, Estimate, Evaluation, RunResult, Score
from proctor.findings.heat import Heat, HeatCell, HeatColumn, HeatRow, Told
from proctor.service.evidence import shared
from proctor.service.results.results import Kept, marks
from proctor.stats.estimates import ACCURACY, MACRO, Shape, scores
from proctor.trial_findings import RunTrials, TrialMatrix

SCORE = "score"
GROUPS = (
    "A group's value is its accuracy over items, each task weighing as much as its full split; it is no mean of the "
    "rows below it."
)
OWN = "Each cell is of the items that its model was asked of the task; n says how many."
SHARED = "Each cell is of the items that all models of this comparison have scored."


def of_comparison(store: Kept, of: Evaluation, names: Mapping[str, str], metric: str = SCORE) -> Heat:
    """Tasks by the runs of a comparison, on the items that all of them have scored; groups first where there are any.

    Of agents it is of their trials. `names` are the columns' by run id; `metric` is what is compared.
    """
    runs = [result.run for result in of.results]
    columns = tuple(HeatColumn(run.id, names[run.id]) for run in runs)
    trials = [result.trials for result in of.results if result.trials is not None]
    if len(trials) == len(runs):
        return agents_by_tasks(trials, columns)
    whole = shared.shape_over(runs)
    if all(_all_shared(result, score) for result, score in zip(of.results, of.compared, strict=True)):
        found: Sequence[Sequence[Score]] = [result.scores for result in of.results]
    else:
        rows = [list(marks(store, run)) for run in runs]
        common = frozenset[tuple[str, str]].intersection(*(shared.scored(each, whole) for each in rows))
        found = [scores(shared.only(each, common), whole) for each in rows]
    return Heat(columns, _rows(found, whole, metric, _told(of)), notes=_notes(whole, metric, SHARED))


def of_results(results: Sequence[RunResult], names: Mapping[str, str], metric: str = SCORE) -> Heat:
    """Tasks by runs, each cell as it was kept when the run ended."""
    runs = [result.run for result in results]
    columns = tuple(HeatColumn(run.id, names[run.id]) for run in runs)
    trials = [result.trials for result in results if result.trials is not None]
    if results and len(trials) == len(runs):
        return agents_by_tasks(trials, columns)
    whole = shared.shape_over(runs)
    return Heat(
        columns,
        _rows([result.scores for result in results], whole, metric, {}),
        notes=_notes(whole, metric, OWN),
    )


def agents_by_tasks(rows: Sequence[RunTrials], columns: Sequence[HeatColumn]) -> Heat:
    """Tasks by agents: the share of a task's scored trials that passed."""
    matrix = TrialMatrix.of(rows)
    by_agent = [matrix.cells(row) for row in rows]
    found = []
    for place, (task, _) in enumerate(matrix.columns):
        cells = []
        for agent in by_agent:
            of = agent[place]
            if of is None:
                cells.append(HeatCell(None, why="this agent has no such task"))
            else:
                cells.append(_cell(of.success, n=of.counts.scored))
        found.append(HeatRow(task, task, "success rate", tuple(cells)))
    return Heat(
        tuple(columns),
        tuple(found),
        "trials",
        ("Each cell is the share of a task's scored trials that passed.",),
    )


# Rows --------------------------------------------------------------------------------------------


def _all_shared(result: RunResult, compared: Score) -> bool:
    """Whether all that a run scored is shared: then its kept scores are of the shared items."""
    return bool(result.scores) and result.scores[0].estimate.scored == compared.estimate.scored


Known = Mapping[tuple[str, str], Estimate]


def _rows(
    of: Sequence[Sequence[Score]], whole: Shape, metric: str, told: Mapping[tuple[str, int], Told]
) -> tuple[HeatRow, ...]:
    by_run: list[Known] = [{(each.task, each.metric): each.estimate for each in found} for found in of]
    tasks = {
        key: [
            HeatRow(
                key,
                spec.title,
                name,
                tuple(
                    _cell(known.get((key, name)), told=told.get((key, place), ""))
                    for place, known in enumerate(by_run)
                ),
                note="not in the score" if spec.extra else "",
            )
            for name in _metrics(spec.official, spec.also, metric)
            if any((key, name) in known for known in by_run)
        ]
        for key, spec in whole.tasks.items()
    }
    if not _grouped(whole, metric):
        return tuple(row for rows in tasks.values() for row in rows)
    found = []
    for title, keys in whole.categories:
        below = tuple(row for key in keys for row in tasks.pop(key, ()))
        if below:
            cells = tuple(_group(known, title) for known in by_run)
            found.append(HeatRow(title, title, ACCURACY, cells, f"{len(below)} tasks", below))
    return (*found, *(row for rows in tasks.values() for row in rows))


def _metrics(official: Sequence[str], also: Sequence[str], metric: str) -> list[str]:
    """Which of a task's metrics are shown: its own official ones, or the one that is asked for."""
    if metric == SCORE:
        return list(dict.fromkeys(official))
    wanted = ACCURACY if metric == MACRO else metric
    return [wanted] if wanted in (*official, *also) else []


def _grouped(whole: Shape, metric: str) -> bool:
    return bool(whole.categories) and metric in (SCORE, ACCURACY, MACRO)


def _group(known: Known, title: str) -> HeatCell:
    """A group's score as it is kept: `STEM accuracy`, or `STEM accuracy (5 of 18 tasks)`."""
    name = f"{title} {ACCURACY}"
    for (task, metric), of in known.items():
        if not task and (metric == name or metric.startswith(f"{name} (")):
            return _cell(of)
    return HeatCell(None, why="no score of this group was kept")


def _cell(of: Estimate | None, *, n: int | None = None, told: Told = "") -> HeatCell:
    if of is None:
        return HeatCell(None, why="not asked")
    return HeatCell(of.value, of.low, of.high, of.scored if n is None else n, of.reason or "", told)


def _told(of: Evaluation) -> dict[tuple[str, int], Told]:
    """By task and column: whether the difference from the first run is shown."""
    places = {result.run.id: place for place, result in enumerate(of.results)}
    first = of.results[0].run.id
    found: dict[tuple[str, int], Told] = {}
    for pair in of.comparisons:
        if first not in (pair.first.id, pair.second.id):
            continue
        other = pair.second.id if pair.first.id == first else pair.first.id
        for task in pair.tasks:
            found[task.task, places[other]] = _stands(pair, task.verdict, other)
    return found


def _stands(pair: Comparison, verdict: str, other: str) -> Told:
    if "better" not in verdict:
        return ""
    return "better" if (verdict == "second better") == (pair.second.id == other) else "worse"


def _notes(whole: Shape, metric: str, of: str) -> tuple[str, ...]:
    return (of, GROUPS) if _grouped(whole, metric) else (of,)
