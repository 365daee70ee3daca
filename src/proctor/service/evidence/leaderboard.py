"""`proctor leaderboard`: models ranked on what they were asked alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from proctor.errors import ConfigError, NotFound
from proctor.figures import listed, unmeasured
from proctor.findings import Board, BoardRow, Difference, Estimate, RunResult, Score
from proctor.service.context import Context
from proctor.service.evidence import shared
from proctor.service.evidence.evaluation import downwards
from proctor.service.results import documents, headline, speeds
from proctor.service.results.comparable import COMPARABILITY
from proctor.service.results.results import marks, shown
from proctor.stats.compare import compare, differences, focused
from proctor.stats.estimates import Scored, Shape
from proctor.stats.ranks import best_shares, rank_intervals, resampled
from proctor.store import Store
from proctor.store.read.lists import RunFilter, RunLine, exists, newest, run_lines
from proctor.types import Run, Status

MOST_NAMED = 5  # models with several runs that a note names
SMALLER = 0.5  # of the items of most: a run that holds the board's scores to fewer is named


def leaderboard(
    context: Context,
    *,
    suite: str | None = None,
    metric: str = headline.SCORE,
    limit: int = 10,
    project_id: int | None = None,
) -> Board:
    """The board of a suite or file: of the comparability key that most models share, then the newest.

    A model's row is its latest complete run of the exam that most of these models took, else its largest that shares
    items with theirs. Pairs are tested on the items that both were asked; the scores shown are of those that all were.
    `metric` "score" is the headline; another is its unweighted mean over the tasks that report it. All models are
    ranked, the first `limit` shown.

    Raises NotFound where there is nothing to rank; ConfigError for a metric that the runs do not report,
    or where `suite` is left out although there are runs of several sources.
    """
    lines = _completed(context.store, suite, project_id)
    group = _group([line for line in lines if line.complete])
    return _board(_entered(context.store, group), group, lines, context.store, metric, limit)


# Which runs --------------------------------------------------------------------------------------


def _completed(store: Store, suite: str | None, project_id: int | None) -> list[RunLine]:
    """The completed runs of the source, newest first; some of them complete."""
    wanted = RunFilter(source=suite, status=Status.COMPLETED, project_id=project_id, graded=True)
    lines = run_lines(store, wanted, limit=None)[0]
    ranked = [line for line in lines if line.complete]
    if not ranked and suite:
        raise NotFound(f"No complete runs of {suite}: nothing to rank. {_rankable(store, project_id)}")
    if not ranked:
        raise NotFound("No complete runs yet: nothing to rank. `proctor run mmlu --model A` makes one")
    sources = dict.fromkeys(line.source for line in _real(ranked))
    if suite is None and len(sources) > 1:
        raise ConfigError(f"There are runs of {', '.join(sources)}: say which with --suite")
    return lines if suite else [line for line in lines if line.source in sources]


def _real(lines: Sequence[RunLine]) -> Sequence[RunLine]:
    """Without those on sample rows, unless that is all there is: a demo is no board of the user's."""
    return [line for line in lines if not line.sample] or lines


def _rankable(store: Store, project_id: int | None) -> str:
    """What has complete runs, as advice: a suite of one's own goes by the name of its file."""
    wanted = RunFilter(status=Status.COMPLETED, project_id=project_id, graded=True)
    sources = dict.fromkeys(line.source for line in run_lines(store, wanted, limit=None)[0] if line.complete)
    return f"There are complete runs of {', '.join(sources)}" if sources else "Nothing has complete runs yet"


def default_suite(store: Store, project_id: int | None, usual: str = "glue") -> str:
    """`usual` if it has complete runs that are not on sample rows, else what was run last that has, else `usual`."""
    wanted = RunFilter(status=Status.COMPLETED, project_id=project_id, sample=False, graded=True)
    if exists(store, wanted._replace(source=usual)):
        return usual
    last = newest(store, wanted)
    return last.source if last else usual


def _group(lines: Sequence[RunLine]) -> list[RunLine]:
    """The runs of the key that most models share, then the newest; sample rows only where there is nothing else."""
    groups: dict[str | None, list[RunLine]] = {}
    for line in _real(lines):
        groups.setdefault(line.comparability, []).append(line)
    return max(groups.values(), key=lambda group: (len(_models(group)), group[0].created_at))


def _models(lines: Iterable[RunLine]) -> set[str]:
    return {line.full_model for line in lines}


def _chosen(group: Sequence[RunLine]) -> list[RunLine]:
    """Of each model its latest run of the exam that most took (of several, the largest), else its largest run."""
    exams: dict[str | None, list[RunLine]] = {}
    for line in group:
        exams.setdefault(line.exam, []).append(line)
    usual = max(exams.values(), key=lambda runs: (len(_models(runs)), runs[0].planned, runs[0].created_at))
    found: dict[str, RunLine] = {}
    for line in [*usual, *sorted(group, key=lambda line: -line.planned)]:  # both newest first
        found.setdefault(line.full_model, line)
    return sorted(found.values(), key=lambda line: line.created_at)


@dataclass(frozen=True, slots=True)
class Entered:
    """The runs of a board with their rows, what each was asked, and what all were: `common`."""

    runs: Sequence[Run]
    rows: Mapping[str, Sequence[Scored]]
    asked: Mapping[str, shared.Asked]
    common: shared.Asked
    shape: Shape

    @property
    def alike(self) -> bool:
        return all(each == self.common for each in self.asked.values())


def _entered(store: Store, group: Sequence[RunLine]) -> Entered:
    """The chosen runs without those that share no item with the others, as after a file was written anew."""
    runs = [store.run(line.id) for line in _chosen(group)]
    rows = {run.id: list(marks(store, run)) for run in runs}
    of = shared.shape_over(runs)
    asked = {run.id: shared.asked(rows[run.id], of) for run in runs}
    times: dict[shared.Asked, int] = {}
    for each in reversed(asked.values()):  # the newest first
        times[each] = times.get(each, 0) + 1
    common = max(times, key=lambda each: (times[each], len(each)))
    for each in sorted(times, key=lambda each: -len(each & common)):
        common = common & each or common
    kept = [run for run in runs if common <= asked[run.id]]
    return Entered(
        kept,
        {run.id: rows[run.id] for run in kept},
        {run.id: asked[run.id] for run in kept},
        common,
        of,
    )


# The board ---------------------------------------------------------------------------------------


def _board(
    entered: Entered,
    group: Sequence[RunLine],
    lines: Sequence[RunLine],
    store: Store,
    metric: str,
    limit: int,
) -> Board:
    runs, rows, of = entered.runs, entered.rows, focused(entered.shape, metric)
    pairs = compare([(run, rows[run.id]) for run in runs], of, tasks=False)
    ranks = rank_intervals([run.id for run in runs], pairs)
    first = best_shares(resampled([rows[run.id] for run in runs], of))
    results = [shown(store, run) for run in runs]
    scores = [_score(store, entered, result, metric) for result in results]
    complete = [line for line in lines if line.complete]
    places = []
    for result, score, (rank, lowest), share in zip(results, scores, ranks, first, strict=True):
        run = result.run
        count = sum(1 for line in complete if line.full_model == str(run.cell.model))
        trend = _trend(store, run, rows[run.id], group, of)
        places.append(BoardRow(result, score.estimate, rank, lowest, share, count, trend))
    places.sort(
        key=lambda place: (place.rank, downwards(place.score.value), str(place.result.run.cell.model))
    )
    return Board(
        source_title=runs[0].source_title,
        metric=scores[0].metric,
        places=tuple(places[:limit]),
        comparisons=pairs,
        left_out=tuple(_left_out(store, entered, lines)),
        models=len(places),
        shared=None if entered.alike else shared.items(entered.common, entered.shape),
        note=" ".join(filter(None, (_note(entered), _latest_of(entered.runs, group)))),
    )


def _score(store: Store, entered: Entered, result: RunResult, metric: str) -> Score:
    """What was kept when the run ended; where the models were not asked the same items, on those that all were."""
    rows = entered.rows[result.run.id]
    if entered.alike:
        return headline.kept(store, result, metric, rows)
    return headline.over(shared.only(rows, entered.common), metric, entered.shape)


def _trend(
    store: Store, run: Run, rows: Sequence[Scored], group: Sequence[RunLine], of: Shape
) -> Difference | None:
    """The change from the model's run before it of the same exam."""
    before = [
        line
        for line in group
        if line.exam == run.exam
        and line.full_model == str(run.cell.model)
        and line.created_at < run.created_at
    ]
    if not before:
        return None
    return differences(rows, list(marks(store, store.run(before[0].id))), of, tasks=False)[0]


# In words ----------------------------------------------------------------------------------------


def _note(entered: Entered) -> str:
    """That the scores are of shared items, and which small run holds them to so few."""
    if entered.alike:
        return ""
    counts = {run.id: shared.items(entered.asked[run.id], entered.shape) for run in entered.runs}
    least, most = min(counts.values()), max(counts.values())
    together = shared.items(entered.common, entered.shape)
    asked = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    said = (
        f"Scores are on the {together:,} items that all {len(counts)} models were asked, of {asked} each; "
        "pairs are tested on all items that both were asked."
    )
    small = min(entered.runs, key=lambda run: counts[run.id])
    rest = [entered.asked[run.id] for run in entered.runs if run is not small]
    without = shared.items(frozenset.intersection(*rest), entered.shape)
    if len(rest) > 1 and together < SMALLER * without:
        said += f" Without {small.cell.model}, which was asked {counts[small.id]:,}, they would be on {without:,}."
    return said


def _latest_of(runs: Sequence[Run], group: Sequence[RunLine]) -> str:
    """Of how many runs of the very same exam each ranked one is the one; "" where each is the only one."""
    times = Counter((line.full_model, line.exam) for line in group)
    several = [(str(run.cell.model), times[str(run.cell.model), run.exam]) for run in runs]
    several = sorted((each for each in several if each[1] > 1), key=lambda each: -each[1])
    if not several:
        return ""
    told = [f"{model} (of {runs_of:,})" for model, runs_of in several[:MOST_NAMED]]
    told += [f"{len(several) - MOST_NAMED:,} more models"] if len(several) > MOST_NAMED else []
    return f"Ranked is the latest run alone of {listed(told)}."


def _left_out(store: Store, entered: Entered, lines: Sequence[RunLine]) -> list[str]:
    """Which completed runs are not on the board, in words; of runs that lack items, a model's newest."""
    on_board = entered.runs[0]
    here = {str(run.cell.model): run for run in entered.runs}
    others: dict[str | None, list[RunLine]] = {}
    strange = []
    for line in lines:
        if line.complete and line.comparability != on_board.comparability:
            others.setdefault(line.comparability, []).append(line)
        elif line.complete and line.full_model not in here:
            strange.append(line)
    told = [
        f"{_counted(group)} with {_other(store, on_board, group[0])} ({_named(group)})"
        for group in others.values()
    ]
    if strange:
        told.append(f"{_counted(strange)} with no item that the others were asked ({_named(strange)})")
    newest = {line.full_model: line for line in reversed(lines)}.values()
    lacking = [line for line in newest if not line.complete]
    if lacking:
        lost = ", ".join(f"{line.full_model}: {_lost(line)}" for line in lacking)
        told.append(f"{_counted(lacking)} not complete ({lost})")
    return told


def _other(store: Store, on_board: Run, line: RunLine) -> str:
    manifest = store.run(line.id).manifest
    differ = [word for word, look in COMPARABILITY.items() if look(manifest) != look(on_board.manifest)]
    return f"other {', '.join(differ) or 'settings'}"


def _lost(line: RunLine) -> str:
    return unmeasured(line.unmeasured, line.planned) or line.stopped or "stopped early"


def _named(lines: Iterable[RunLine]) -> str:
    return ", ".join(sorted(_models(lines)))


def _counted(lines: Sequence[RunLine]) -> str:
    return f"{len(lines)} {'run' if len(lines) == 1 else 'runs'}"


def board_document(board: Board) -> dict[str, Any]:
    """The board as JSON; `trend` is the change from the model's run before, null where there is none."""
    return {
        "source_title": board.source_title,
        "metric": board.metric,
        "models": board.models,
        "sample": any(place.result.run.sample for place in board.places),
        "shared_items": board.shared,
        "note": board.note,
        "places": [_place_document(place) for place in board.places],
        "comparisons": [documents.comparison(c) for c in board.comparisons],
        "left_out": list(board.left_out),
        "speeds_differ": speeds.unlike([place.result for place in board.places]),
    }


def _place_document(place: BoardRow) -> dict[str, Any]:
    run = place.result.run
    return {
        "rank": place.rank,
        "lowest_rank": place.lowest,
        "model": str(run.cell.model),
        "provider": run.cell.model.provider,
        "run_id": run.id,
        "score": asdict(place.score),
        "p_best": place.p_best,
        "speed": speeds.document(place.result.tally.speed),
        "runs": place.runs,
        "trend": documents.difference(place.trend) if place.trend else None,
    }


def risen(change: Estimate) -> int:
    """1 or -1 where the interval of a change leaves out 0, else 0."""
    if change.low is None or change.high is None:
        return 0
    return int(change.low > 0) - int(change.high < 0)
