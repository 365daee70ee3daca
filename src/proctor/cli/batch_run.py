"""`proctor batch run`: a file of requests is sent to a model."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import click

from proctor.cli.options import batch_options, json_option
from proctor.errors import Exit
from proctor.plan import Wanted
from proctor.plan.doors import from_params
from proctor.references import BatchRef
from proctor.service.context import Context
from proctor.service.results.outcome import PlanOutcome
from proctor.settings import read_settings
from proctor.types import Plan

EXITS = "Exit codes: " + "; ".join(
    f"{code:d} {words}"
    for code, words in (
        (Exit.DONE, "every request is answered"),
        (Exit.REQUEST, "wrong request"),
        (Exit.PART, "some are not"),
        (Exit.GATE, "the gate is not passed"),
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
@click.option(
    "--against",
    metavar="FILE|RUN|last",
    help="Say at the end what has changed since an earlier output: a file, a run, or the last run of this file.",
)
@click.option(
    "--by",
    default="exact",
    show_default=True,
    metavar="COMPARATOR",
    help="When two replies come to the same, as `proctor batch compare` has it.",
)
@click.option(
    "--gate-same",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Exit with 4 if less of what --against answered is the same, such as 0.98.",
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
    beside = _Beside(given["against"], given["by"], given["gate_same"])
    with open_context(settings) as context:
        beside.check(context, plan)
        show = shower()
        with show:
            how = Sending(retry_failed, show.watch, say=partial(click.echo, err=True))
            outcome = run_batch(context, plan, how)
        code = _all_or_part(outcome, finish(outcome, as_json=as_json))
        for line in _what_now(outcome):
            click.echo(line, err=True)
        return beside.told(context, outcome, code, to_stderr=as_json)


@dataclass(frozen=True, slots=True)
class _Beside:
    """What the replies are compared with at the end, and how much of it is to be the same."""

    other: str | None
    by: str
    least: float | None

    def check(self, context: Context, plan: Plan) -> None:
        """Say what it will be. Raises: ConfigError, NotFound, before anything is asked."""
        from proctor.service.batches.run import compared_with

        if self.other is not None:
            click.echo(f"To be compared with {compared_with(context, self.other, self.by, plan)}", err=True)
        elif self.least is not None:
            raise click.UsageError("--gate-same needs --against: the same as what?")

    def told(self, context: Context, outcome: PlanOutcome, code: Exit, *, to_stderr: bool) -> Exit:
        """Print what has changed; the exit code."""
        if self.other is None or outcome.evaluation is None or code not in (Exit.DONE, Exit.PART):
            return code
        from proctor.service.batches.compare import against
        from proctor.service.batches.verdict import gate_same, verdict

        run = outcome.evaluation.results[0].run
        found = against(context, run, self.other, self.by)
        click.echo(f"Beside {found.outputs[0].name}: {verdict(found)}", err=to_stderr)
        click.echo(
            f"To see them: proctor batch compare {shlex.join([found.outputs[0].name, run.id[:8]])}", err=True
        )
        if self.least is None:
            return code
        gate = gate_same(found, self.least)
        click.echo(gate.sentence, err=to_stderr)
        return code if gate.passed else Exit.GATE


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
