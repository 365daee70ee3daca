"""`proctor export` and `proctor report`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from proctor.cli.options import kept_grader_option
from proctor.errors import ConfigError
from proctor.settings import read_settings

if TYPE_CHECKING:
    from proctor.service.context import Context


@click.command("export")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "json", "jsonl", "lm-eval"]),
    default="csv",
    show_default=True,
    help="csv: one line an item; jsonl and json: with prompts and whole replies; lm-eval: its layout, in a folder.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File to write; with lm-eval the folder.  [default: standard output; lm-eval-RUN]",
)
def export_command(runs: tuple[str, ...], form: str, output: Path | None) -> int:
    """Write the items of RUN with answers, scores and replies."""
    from proctor.service.context import open_context

    with open_context(read_settings(os.environ)) as context:
        if form == "lm-eval":
            _export_lm_eval(context, runs, output)
        else:
            _export(context, runs, form, output)
    return 0


def _export_lm_eval(context: Context, runs: tuple[str, ...], output: Path | None) -> None:
    from proctor.service.data.transfer import export_lm_eval

    for run in runs:
        folder = output / run if output and len(runs) > 1 else output or Path(f"lm-eval-{run[:8]}")
        for path in export_lm_eval(context, run, folder):
            click.echo(f"{path}")


def _export(context: Context, runs: tuple[str, ...], form: str, output: Path | None) -> None:
    from proctor.service.data.transfer import export

    if output is None:
        export(context, runs, form, sys.stdout)
        return
    try:
        with output.open("w", encoding="utf-8", newline="") as out:
            written = export(context, runs, form, out)
    except OSError as error:
        raise ConfigError(f"--output {output}: {error.strerror}") from error
    click.echo(f"{written:,} answers written to {output}", err=True)


# Format of a report -> the end of its file's name.
REPORTS = {"html": "html", "md": "md", "latex": "tex"}


@click.command("report")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--format",
    "form",
    type=click.Choice(list(REPORTS)),
    default="html",
    show_default=True,
    help="html: opens without a server; md: for a repository; latex: a document for pdflatex.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File to write; - is standard output.  [default: report-RUN.html, .md or .tex]",
)
@kept_grader_option
def report_command(runs: tuple[str, ...], form: str, output: Path | None, grader: str | None) -> int:
    """Write a report of RUN, or of several runs side by side, as one file."""
    from proctor.service.context import open_context
    from proctor.service.data.transfer import report

    with open_context(read_settings(os.environ)) as context:
        text = report(context, runs, form, grader=grader)
    if output == Path("-"):
        click.echo(text)
        return 0
    path = output or Path(f"report-{'-'.join(run[:8] for run in runs[:3])}.{REPORTS[form]}")
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--output {path}: {error.strerror}") from error
    click.echo(f"{path}")
    return 0
