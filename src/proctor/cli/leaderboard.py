"""`proctor leaderboard` and `proctor history`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from proctor.cli.options import json_option
from proctor.settings import read_settings

if TYPE_CHECKING:
    from proctor.findings import Board, BoardRow, Difference
    from proctor.service.evidence.history import History, HistoryLine


@click.command("leaderboard")
@click.option("--suite", metavar="NAME", help="Suite or file.  [default: the only one that has runs]")
@click.option(
    "--metric",
    default="score",
    show_default=True,
    metavar="NAME",
    help="What to rank by: score is the headline; f1, ... a metric over the tasks that report it.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="Show the first N.",
)
@json_option
def leaderboard_command(suite: str | None, metric: str, limit: int, as_json: bool) -> int:
    """Rank the models that were asked the same, by their latest complete runs; models that are tied share a rank."""
    from proctor.cli.finish import say
    from proctor.service.context import open_context
    from proctor.service.evidence.leaderboard import board_document, leaderboard
    from proctor.service.results import documents

    with open_context(read_settings(os.environ)) as context:
        board = leaderboard(context, suite=suite, metric=metric, limit=limit)
    if as_json:
        click.echo(documents.to_json(board_document(board)))
    else:
        say(_board_lines(board))
    return 0


def _board_lines(board: Board) -> Iterator[str]:
    from proctor.cli.tables import columns
    from proctor.figures import title_of

    sample = any(place.result.run.sample for place in board.places)
    mark = "  [sample rows, no real scores]" if sample else ""
    asked = board.places[0].score.asked
    one = "task" if board.places[0].result.trials is not None else "item"
    items = f"{asked:,} {'shared ' if board.shared else ''}{one}{'' if asked == 1 and one == 'task' else 's'}"
    yield f"{board.source_title}, {title_of(board.metric)}, {items}{mark}"
    yield from columns(
        [_place_row(place) for place in board.places],
        ("rank", "may be", "model", title_of(board.metric), "P(best)", "runs", "since the run before"),
    )
    yield ""
    yield _board_sentence(board)
    if board.note:
        yield board.note
    yield from (f"Left out: {words}." for words in board.left_out)


def _place_row(place: BoardRow) -> tuple[str, ...]:
    from proctor.figures import chance, estimate

    ranks = f"{place.rank}" if place.rank == place.lowest else f"{place.rank} to {place.lowest}"
    return (
        str(place.rank),
        ranks,
        str(place.result.run.cell.model),
        estimate(place.score),
        chance(place.p_best),
        f"{place.runs:,}",
        _change(place.trend),
    )


def _change(change: Difference | None) -> str:
    """An arrow only where the interval of the change leaves out 0."""
    from proctor.figures import estimate
    from proctor.service.evidence.leaderboard import risen

    if change is None or change.estimate.value is None:
        return "-"
    arrow = {1: "↑ ", -1: "↓ ", 0: ""}[risen(change.estimate)]
    return f"{arrow}{estimate(change.estimate)}"


def _board_sentence(board: Board) -> str:
    first = [str(place.result.run.cell.model) for place in board.places if place.rank == 1]
    if board.models == 1:
        return f"{first[0]} is the only model on this board."
    if len(first) == 1:
        others = "the other" if board.models == 2 else f"each of the {board.models - 1} others"
        return f"{first[0]} is shown to be better than {others}."
    tied = f"{', '.join(first[:-1])} and {first[-1]}"
    return f"No model is shown to be better than {tied}: they share the first rank."


@click.command("history")
@click.option("--model", metavar="NAME", help="Only runs of this model, with or without its provider.")
@click.option("--suite", "source", metavar="NAME", help="Only runs of this suite or file.")
@click.option(
    "--days",
    type=click.IntRange(1, 3650),
    default=30,
    show_default=True,
    metavar="N",
    help="How far to look back.",
)
@json_option
def history_command(model: str | None, source: str | None, days: int, as_json: bool) -> int:
    """Show the runs of the last days and how each model's score moved from run to run."""
    from proctor.cli.finish import say
    from proctor.service.context import open_context
    from proctor.service.evidence.history import history, history_document
    from proctor.service.results import documents

    with open_context(read_settings(os.environ)) as context:
        found = history(context, model=model, days=days, source=source)
    if as_json:
        click.echo(documents.to_json(history_document(found)))
    else:
        say(_history_lines(found))
    return 0


def _history_lines(found: History) -> Iterator[str]:
    from proctor.cli.tables import LIST_HEADS, columns
    from proctor.figures import share

    if not found.runs:
        yield f"No runs in the last {found.days} days."
        return
    heads = (*LIST_HEADS, "since the run before")
    yield from columns([_past_row(past) for past in found.runs], heads)
    yield ""
    yield (
        f"{found.total:,} runs in the last {found.days} days: {found.completed:,} completed, {found.failed:,} failed; "
        f"success rate {share(found.success_rate)}."
    )


def _past_row(past: HistoryLine) -> tuple[str, ...]:
    from proctor.cli.tables import list_entry, list_row

    return (*list_row(list_entry(past.result)), _change(past.change))
