"""`proctor plan`: calls, tokens, time, cost, and what so many items can show, before anything is asked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from proctor.cli.options import budget_options, json_option, sampling_options, source_options
from proctor.cli.run import model_options, plan_from
from proctor.settings import read_settings

if TYPE_CHECKING:
    from proctor.service.forecast import CellForecast, Forecast


@click.command("plan")
@click.argument("source")
@model_options
@click.option(
    "--difference", type=float, metavar="D", help="Say how many items a difference of D takes, such as 0.02."
)
@source_options
@sampling_options
@budget_options
@json_option
def plan_command(
    source: str, models: tuple[str, ...], difference: float | None, as_json: bool, **given: Any
) -> int:
    """Say what `proctor run` with the same options would take, and what it could show. Nothing is asked."""
    from proctor.cli.download import Download
    from proctor.cli.finish import say
    from proctor.service import documents
    from proctor.service.forecast import forecast, forecast_document
    from proctor.service.runs import open_sources

    settings = read_settings(os.environ)
    plan = plan_from(source, models, given, settings)
    with Download() as download:
        sources = open_sources(plan, settings, tell=download.tell)
    found = forecast(plan, sources, settings, difference=difference)
    if as_json:
        click.echo(documents.to_json(forecast_document(found)))
    else:
        say(_lines(found))
    return 0


def _lines(found: Forecast) -> Iterator[str]:
    from proctor.cli.tables import columns
    from proctor.figures import fraction, rounded

    calls = sum(cell.calls for cell in found.cells)
    yield f"{found.source_title}: {found.items:,} items, {calls:,} calls."
    heads = ("model", "calls", "tokens in", "tokens out", "time", "cost", "from")
    yield from columns([_cell_row(cell) for cell in found.cells], heads)
    yield ""
    yield (
        f"At a score of {fraction(found.share)} the interval will be about ± {fraction(found.half_width)}. "
        f"Two models are told apart (4 times in 5) if they differ by about {fraction(found.detectable)} or more; by "
        f"{fraction(found.detectable_close)} if they mostly fail on the same items."
    )
    if found.tasks > 1:
        yield f"{found.tasks} tasks, the smallest with {found.smallest_task:,} items: single tasks show less."
    if found.needed is not None and found.difference is not None:
        enough = "so these are enough" if found.needed <= found.items else "more than these"
        yield f"A difference of {fraction(found.difference)} takes about {rounded(found.needed):,} items: {enough}."
    if all(cell.low_s is None for cell in found.cells):
        yield "Time and cost are not known yet: a run with --limit 20 tells them."


def _cell_row(cell: CellForecast) -> tuple[str, ...]:
    from proctor.figures import amount, dollars, duration

    time = "-" if cell.low_s is None else f"{duration(cell.low_s)} to {duration(cell.high_s)}"
    tokens = (amount(cell.input_tokens), amount(cell.output_tokens))
    return (cell.model, f"{cell.calls:,}", *tokens, time, dollars(cell.cost_usd), cell.basis)
