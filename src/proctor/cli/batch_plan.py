"""`proctor batch plan`: calls, tokens, time and cost of a file of requests, before anything is asked."""

from __future__ import annotations

import os
from typing import Any

import click

from proctor.cli.options import batch_options, json_option
from proctor.plan import Wanted
from proctor.plan.doors import from_params
from proctor.settings import read_settings


@click.command("plan")
@click.argument("file")
@click.option("--model", required=True, metavar="PROVIDER/NAME", help="The model that would be asked.")
@batch_options
@json_option
def plan_command(file: str, model: str, as_json: bool, **given: Any) -> int:
    """Say what `proctor batch run` with the same options would take. No model is asked."""
    from proctor.cli.finish import say
    from proctor.cli.plan import cost_lines
    from proctor.service.context import open_context
    from proctor.service.forecast.forecast import forecast, forecast_document
    from proctor.service.results import documents
    from proctor.service.runs.lifecycle import open_sources
    from proctor.service.runs.planning import plan_of_batch

    settings = read_settings(os.environ)
    plan = plan_of_batch(Wanted(file, (model,), from_params(given), "batch run"), settings)
    with open_context(settings) as context:
        found = forecast(context, plan, open_sources(plan, settings))
    if as_json:
        click.echo(documents.to_json(forecast_document(found)))
    else:
        say([*found.understood, *cost_lines(found), *found.notes])
    return 0
