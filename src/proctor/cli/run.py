"""`proctor run`: from words on the command line to a verdict."""

from __future__ import annotations

import os
from typing import Any

import click

from proctor.cli.exits import OF_RUNS
from proctor.cli.options import json_option, run_options, wanted_from
from proctor.settings import read_settings


@click.command("run", epilog=OF_RUNS)
@click.argument("source")
@run_options
@json_option
def run_command(source: str, models: tuple[str, ...], as_json: bool, **given: Any) -> int:
    """Ask models the questions of SOURCE and say which is better.

    SOURCE is a file of questions (JSONL, CSV, XLSX, ...), a suite (glue, superglue, mmlu, medical), a suite of
    your own (TOML), or a data set (`proctor dataset list`).
    """
    from proctor.cli.download import Download
    from proctor.cli.finish import begin, finish
    from proctor.service.context import open_context
    from proctor.service.runs.lifecycle import open_sources, start
    from proctor.service.runs.planning import plan_of_wanted

    settings = read_settings(os.environ)
    plan = plan_of_wanted(wanted_from(source, models, given), settings)
    with Download() as download:
        sources = open_sources(plan, settings, tell=download.tell)
    show = begin(plan, sources[0])
    with show, open_context(settings) as context:
        outcome = start(context, plan, watch=show.watch, sources=sources)
    return finish(outcome, as_json=as_json)
