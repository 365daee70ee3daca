"""`proctor batch run`: a file of requests is sent to a model."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import Any

import click

from proctor.cli.options import batch_options, json_option
from proctor.errors import Exit
from proctor.plan import Wanted
from proctor.plan.doors import from_params
from proctor.references import BatchRef
from proctor.service.results.outcome import PlanOutcome
from proctor.settings import read_settings

EXITS = "Exit codes: " + "; ".join(
    f"{code:d} {words}"
    for code, words in (
        (Exit.DONE, "every request is answered"),
        (Exit.REQUEST, "wrong request"),
        (Exit.PART, "some are not"),
        (Exit.NOTHING, "none is"),
        (Exit.INTERRUPTED, "Ctrl-C"),
    )
)


@click.command("run", epilog=EXITS)
@click.argument("file")
@click.option("--model", required=True, metavar="PROVIDER/NAME", help="The model that is asked.")
@batch_options
@click.option(
    "--retry-failed", is_flag=True, help="Ask again what failed in a run that has asked everything."
)
@json_option
def run_command(file: str, model: str, retry_failed: bool, as_json: bool, **given: Any) -> int:
    """Send the requests of FILE to a model.

    FILE has a request a line, as OpenAI's batches have it, or is a table, or the name of an uploaded one. With -o
    the replies go into a file as they come. The same command again asks what has no reply yet; where FILE has changed,
    only requests that are new or changed are asked.
    """
    from proctor.cli.finish import finish
    from proctor.cli.progress import shower
    from proctor.service.batches.run import Sending, run_batch
    from proctor.service.context import open_context
    from proctor.service.runs.planning import plan_of_batch

    settings = read_settings(os.environ)
    plan = plan_of_batch(Wanted(file, (model,), from_params(given), "batch run"), settings)
    show = shower()
    with show, open_context(settings) as context:
        how = Sending(retry_failed, show.watch, say=partial(click.echo, err=True))
        outcome = run_batch(context, plan, how)
    code = finish(outcome, as_json=as_json)
    for line in _what_now(outcome):
        click.echo(line, err=True)
    return _all_or_part(outcome, code)


def _what_now(outcome: PlanOutcome) -> Iterator[str]:
    """Where the replies are, and what can be done about those that are not there."""
    for result in outcome.evaluation.results if outcome.evaluation else ():
        run, failed = result.run, sum(result.tally.errors.values())
        asked = sum(result.tally.outcomes.values())
        if isinstance(run.cell.source, BatchRef) and run.cell.source.out:
            yield f"Output: {run.cell.source.out} ({asked:,} lines)"
        if failed and asked >= run.planned:
            yield f"{failed:,} failed: the same command with --retry-failed asks them again."
        elif asked < run.planned:
            yield f"{run.planned - asked:,} were not asked: the same command again goes on."


def _all_or_part(outcome: PlanOutcome, code: Exit) -> Exit:
    """A batch is done when all is answered, even where its user's own bound ended it before."""
    results = outcome.evaluation.results if outcome.evaluation else ()
    return Exit.PART if code is Exit.DONE and any(each.run.partial for each in results) else code
