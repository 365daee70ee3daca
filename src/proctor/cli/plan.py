"""`proctor plan`: calls, tokens, time, cost, and what so many items can show, before anything is asked."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from proctor.cli.options import json_option, run_options, wanted_from
from proctor.settings import read_settings

if TYPE_CHECKING:
    from proctor.service.forecast.forecast import CellForecast, Expected, Forecast, Power, Takes

# What a row holds, as the sentences below the table call it.
NAMES = {
    "input_tokens": "tokens in",
    "output_tokens": "tokens out",
    "seconds": "time",
    "cost_usd": "cost",
}

WORTH_LESS = 0.95  # of a plain sample: from here on it is worth a word


@click.command("plan")
@click.argument("source")
@click.option(
    "--difference",
    type=float,
    metavar="D",
    help="Say how many items it takes to show a difference of D, such as 0.02.",
)
@run_options
@json_option
def plan_command(
    source: str, models: tuple[str, ...], difference: float | None, as_json: bool, **given: Any
) -> int:
    """Say what `proctor run` with the same options would take, and what it could show. No model is asked.

    Rows of a suite that are not on this machine are fetched, as a run would.
    """
    from proctor.cli.download import Download
    from proctor.cli.finish import say
    from proctor.service.context import open_context
    from proctor.service.forecast.forecast import forecast, forecast_document
    from proctor.service.results import documents
    from proctor.service.runs.lifecycle import open_sources
    from proctor.service.runs.planning import plan_of_wanted

    settings = read_settings(os.environ)
    plan = plan_of_wanted(wanted_from(source, models, given), settings)
    with Download() as download:
        sources = open_sources(plan, settings, tell=download.tell)
    with open_context(settings) as context:
        found = forecast(context, plan, sources, difference=difference)
    if as_json:
        click.echo(documents.to_json(forecast_document(found)))
    else:
        say(_lines(found))
    return 0


def _lines(found: Forecast) -> Iterator[str]:
    yield from found.understood
    mark = "  [sample rows, no real score]" if found.sample else ""
    models = f"{len(found.cells)} {'model' if len(found.cells) == 1 else 'models'}"
    yield f"{found.source_title}: {_items(found.power.items)}, {models}, {found.total.calls:,} calls.{mark}"
    yield from cost_lines(found)
    yield from _power_lines(found.power)
    yield from found.notes


def cost_lines(found: Forecast) -> Iterator[str]:
    """What each model would take, and where each figure is from."""
    from proctor.cli.tables import columns

    rows = [_cell_row(cell) for cell in found.cells]
    if len(found.cells) > 1:
        rows.append(("all", *_cell_row(found.total)[1:]))
    yield from columns(rows, ("model", "calls", *NAMES.values()))
    yield ""
    for cell in found.cells:
        yield from _basis_lines(cell)
    yield ""


def takes_lines(found: Sequence[Takes]) -> Iterator[str]:
    """What cells take that are not compared."""
    from proctor.cli.tables import columns

    yield from columns([_cell_row(each.cell) for each in found], ("model", "calls", *NAMES.values()))
    for each in found:
        yield from _basis_lines(each.cell)
        yield from each.notes


def _cell_row(cell: CellForecast) -> tuple[str, ...]:
    from proctor.figures import dollars

    tokens = (_most(cell.input_tokens, _tokens), _most(cell.output_tokens, _tokens))
    return (
        cell.model,
        f"{cell.calls:,}",
        *tokens,
        _time(cell.seconds),
        _most(cell.cost_usd, dollars),
    )


def _most(of: Expected, write: Any) -> str:
    """The amount, or the most it can come to."""
    if of.value is not None:
        return f"about {write(of.value)}"
    return f"at most {write(of.high)}" if of.high is not None else "-"


def _tokens(value: float) -> str:
    from proctor.figures import rounded

    return f"{rounded(round(value)):,}"


def _time(of: Expected) -> str:
    from proctor.figures import duration

    return "-" if of.low is None or of.high is None else f"{duration(of.low)} to {duration(of.high)}"


def _basis_lines(cell: CellForecast) -> Iterator[str]:
    """Where each figure of a model is from; figures that share it stand together."""
    names: dict[str, list[str]] = {}
    for field, name in NAMES.items():
        names.setdefault(getattr(cell, field).basis, []).append(name)
    if len(names) == 1:
        yield f"{cell.model}: {next(iter(names))}."
        return
    parts = [f"{', '.join(these)}: {basis}" for basis, these in names.items()]
    yield f"{cell.model}, {'; '.join(parts)}."


def _power_lines(power: Power) -> Iterator[str]:
    from proctor.figures import among, fraction, share

    yield (
        f"With {share(power.assumed.share)} of the answers right ({power.share_basis}), a score is sure to about "
        f"+/- {fraction(power.half_width)}."
    )
    if power.detectable is None or power.detectable_close is None:
        yield "So few items tell no two models apart."
    else:
        yield (
            f"Two models are told apart, with 80 % power{among(power.comparisons)}, if they differ by "
            f"{_gap(power.detectable)}; by {fraction(power.detectable_close)} if they mostly fail on the same items. "
            "Items are taken as independent."
        )
    if power.effective < WORTH_LESS * power.items:
        yield (
            f"Small tasks weigh more than their size in this score: these {power.items:,} items are worth about "
            f"{power.effective:,.0f} of a plain sample."
        )
    if power.assumed.repeats > 1 and not power.assumed.within:
        yield "Repeats are counted as bringing nothing: no earlier run shows that answers to one item vary."
    if len(power.tasks) > 1:
        yield _task_line(power)
    if power.difference is not None:
        yield f"A difference of {fraction(power.difference)} takes {_enough(power)}"


def _task_line(power: Power) -> str:
    """What single tasks show, from the largest to the smallest."""
    ordered = sorted(power.tasks, key=lambda task: -task.items)
    most, least = ordered[0], ordered[-1]
    shown = _gap(most.detectable)
    if most.items == least.items:
        return f"Each of the {len(power.tasks)} tasks, with {_items(most.items)}, shows {shown}."
    return (
        f"Of the {len(power.tasks)} tasks the largest, with {_items(most.items)}, shows {shown}; the smallest, with "
        f"{_items(least.items)}, {_gap(least.detectable)} (--json has all)."
    )


def _gap(least: float | None) -> str:
    """The smallest difference that is shown."""
    from proctor.figures import fraction

    return "no difference" if least is None else f"about {fraction(least)} or more"


def _items(n: int) -> str:
    return f"{n:,} {'item' if n == 1 else 'items'}"


def _enough(power: Power) -> str:
    from proctor.figures import rounded

    needed = power.needed
    if needed is None:
        return f"more items than there are; the source has {power.available:,}, which show {_gap(power.at_best)}."
    if needed <= power.items:
        return f"about {rounded(needed):,} items: these are enough."
    if needed <= power.available:
        return f"about {min(rounded(needed), power.available):,} items; the source has {power.available:,}."
    only = f"the source has only {power.available:,}, which show {_gap(power.at_best)}"
    return f"about {rounded(needed):,} items; {only}."
