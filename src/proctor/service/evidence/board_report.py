"""A board as one HTML file that needs no server: ranks with their ranges, intervals, and what is not on it."""

from __future__ import annotations

import time
from collections.abc import Iterator

from proctor.figures import chance, dollars, estimate, fraction, title_of
from proctor.findings import Board, BoardRow
from proctor.report.blocks import Block, Dot, Heading, Listing, Notice, Page, Paragraph, Plot, Table
from proctor.report.html import to_html
from proctor.report.words import stamp
from proctor.service.context import Context
from proctor.service.evidence.cache import Lately
from proctor.service.evidence.tradeoffs import per_1000

RANKS = (
    "Models that share a rank are not told apart. A range of ranks holds for all models at once with 95 % confidence; "
    "it follows from testing every pair on the items that both were asked. P(best) is how often the model is the best "
    "of the board in resampled exams."
)
ALIKE = (
    "Only complete runs that were asked in the same way are ranked, on the items that they share; of each model its "
    "latest that was asked what most were."
)
SAMPLE = "These rows were written for trying proctor out; the ranks say nothing about the models."


def board_report(
    context: Context, suite: str, metric: str = "accuracy", limit: int = 10, project_id: int | None = None
) -> str:
    """One HTML file of the board as it stands now. Raises NotFound, ConfigError."""
    return to_html(board_page(Lately(context).board(suite, metric, limit, project_id), now=time.time()))


def board_page(board: Board, *, now: float) -> Page:
    """The board's contents; `now` (Unix time) is the date it is given."""
    models = f"{len(board.places)} of {board.models} models"
    return Page(
        f"Leaderboard: {board.source_title}",
        f"{title_of(board.metric)}, {models}, {stamp(now)}",
        tuple(_blocks(board)),
    )


def _blocks(board: Board) -> Iterator[Block]:
    if any(place.result.run.sample for place in board.places):
        yield Notice("warning", "Sample data.", SAMPLE)
    if board.note:
        yield Notice("warning", "What is ranked.", board.note)
    dots = tuple(
        Dot(str(place.result.run.cell.model), e.value, e.low, e.high)
        for place in board.places
        if (e := place.score).value is not None and e.low is not None and e.high is not None
    )
    if dots:
        yield Plot(f"{title_of(board.metric)} with 95 % intervals", dots)
    heads = ("Model", "Rank", title_of(board.metric), "P(best)", "Items", "Change", "$ for 1,000", "Run")
    yield Table(
        "Ranks and scores", heads, tuple(_row(place) for place in board.places), frozenset({1, 3, 4, 5, 6})
    )
    yield Paragraph(RANKS)
    yield Paragraph(ALIKE)
    if board.left_out:
        yield Heading("Not on this board")
        yield Listing(board.left_out)


def _row(place: BoardRow) -> tuple[str, ...]:
    run, moved = place.result.run, place.trend.estimate.value if place.trend else None
    ranks = str(place.rank) if place.lowest == place.rank else f"{place.rank} to {place.lowest}"
    change = "first run" if moved is None else f"{'+' if moved > 0 else ''}{fraction(moved)}"
    return (
        str(run.cell.model),
        ranks,
        estimate(place.score),
        chance(place.p_best),
        f"{place.score.scored:,}",
        change,
        dollars(per_1000(place.result)),
        run.id,
    )
