"""`proctor rollouts resume`: a benchmark goes on with what is missing or measured nothing."""

from __future__ import annotations

import os

import click

from proctor.cli.options import json_option
from proctor.cli.rollouts import EXITS, verbose_option
from proctor.settings import read_settings


@click.command("resume", epilog=EXITS)
@click.argument("benchmark", metavar="NAME|STAMP|RUN")
@verbose_option
@json_option
def resume_command(benchmark: str, verbose: int, as_json: bool) -> int:
    """Go on with a benchmark: trials that were not run or measured nothing are run, the others are kept.

    What an agent made is never asked for again: a trial whose verifier failed is only verified. BENCHMARK is a NAME
    (its latest rollout), a STAMP, a trial's STAMP-NUMBER, or the id of a plan or run. Its files are put right.
    """
    from proctor.cli.rollouts_lines import Lines, last_words
    from proctor.service.context import open_context
    from proctor.service.rollouts.found import benchmark_runs
    from proctor.service.rollouts.opening import go_on
    from proctor.types import Plan

    with open_context(read_settings(os.environ)) as context:
        runs = benchmark_runs(context, benchmark)
        plan = Plan(tuple(run.cell for run in runs), name=runs[0].cell.source.listed)
        with Lines(context, plan, verbose=verbose, to_stderr=as_json) as lines:
            lines.going_on(runs)
            outcome = go_on(context, runs, watch=lines.watch)
            lines.ended(outcome)
        return last_words(context, outcome, as_json=as_json)
