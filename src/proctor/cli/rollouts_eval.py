"""`proctor rollouts eval`: the patches that are kept of a benchmark are verified again, beside their first verdicts."""

from __future__ import annotations

import os

import click

from proctor.cli.options import json_option
from proctor.cli.rollouts_results import one_of, which_option
from proctor.errors import Exit
from proctor.settings import read_settings

EXITS = (
    f"Exit codes: {Exit.DONE:d} every patch is verified with the same score as first; {Exit.DEFECT:d} a score differs; "
    f"{Exit.REQUEST:d} wrong request; {Exit.PART:d} some could not be verified; {Exit.NOTHING:d} none could"
)


@click.command("eval", epilog=EXITS)
@click.argument("name")
@which_option
@json_option
def eval_command(name: str, latest: bool, stamp: str | None, as_json: bool) -> int:
    """Verify the kept patches of a rollout of NAME again. No agent is asked.

    The verdicts are kept beside the first ones and written to eval_manifest.json. A patch that scores otherwise than
    first has a verifier that does not agree with itself.
    """
    from proctor.cli.rollouts_lines import shown
    from proctor.figures import fraction
    from proctor.service.context import open_context
    from proctor.service.results import documents
    from proctor.service.rollouts.again import VerifiedAgain, evaluate_again, report_document
    from proctor.service.rollouts.found import benchmark_runs

    def say(one: VerifiedAgain) -> None:
        now = fraction(one.score) if one.score is not None else f"no verdict ({one.error})"
        told = "" if one.score is None else ", the same" if one.same else f", first {fraction(one.first)}"
        about = f"{one.trial.row} on {one.trial.task}"
        click.echo(f"[rollouts] {one.trial.run_id} evaluated: score {now}{told} - {about}", err=as_json)

    with open_context(read_settings(os.environ)) as context:
        report = evaluate_again(context, benchmark_runs(context, name, one_of(latest, stamp)), say)
    if as_json:
        click.echo(documents.to_json(report_document(report, report.grader.rpartition("=")[2])))
    verified, otherwise = len(report.verified) - len(report.failed), len(report.differing)
    click.echo(
        f"{verified} of {len(report.verified)} patches verified again: {verified - otherwise} score as first, "
        f"{otherwise} otherwise; {report.left_out} trials have no patch",
        err=as_json,
    )
    click.echo(f"Files: {shown(report.path)}; a log for each trial in evaluations/ of its folder", err=True)
    if not verified:
        return Exit.NOTHING
    return Exit.PART if report.failed else Exit.DEFECT if report.differing else Exit.DONE
