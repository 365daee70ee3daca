"""`proctor data`: the rows of suites."""

from __future__ import annotations

import os
from pathlib import Path

import click

from proctor.cli.options import json_option
from proctor.settings import read_settings


@click.group("data")
def data_command() -> None:
    """Import the official rows of suites; list, show and check what is here."""


@data_command.command("import")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@json_option
def import_command(path: Path, as_json: bool) -> int:
    """Import PATH: a file, an archive, or any folder above several data sets.

    Files that are not recognised are listed and passed over.
    """
    from proctor.cli.imports import import_lines, import_record
    from proctor.service.context import open_context
    from proctor.service.data.transfer import import_data, share_imported
    from proctor.service.results import documents

    settings = read_settings(os.environ)
    report = import_data(path, settings)
    if settings.shared or settings.several_machines:
        with open_context(settings) as context:
            share_imported(context, report)
    if as_json:
        click.echo(documents.to_json(import_record(report)))
    else:
        for line in import_lines(report):
            click.echo(line)
    return 2 if report.failed or not report.imported else 0


@data_command.command("list")
@json_option
def list_command(as_json: bool) -> int:
    """List the rows that are here: task by task, imported or downloaded from the hub."""
    from proctor.cli.imports import list_lines
    from proctor.service.data.transfer import present_data
    from proctor.service.results import documents

    rows = present_data(read_settings(os.environ))
    if as_json:
        click.echo(documents.to_json({"tasks": rows}))
    else:
        for line in list_lines(rows):
            click.echo(line)
    return 0


@data_command.command("show")
@click.argument("task")
@json_option
def show_command(task: str, as_json: bool) -> int:
    """Show what is here of TASK: where it comes from, how often each answer stands in it, its first rows."""
    from proctor.cli.imports import show_lines
    from proctor.service.data.transfer import show_data
    from proctor.service.results import documents

    sets = show_data(task, read_settings(os.environ))
    if as_json:
        click.echo(documents.to_json({"task": task, "sets": sets}))
    else:
        for line in show_lines(sets):
            click.echo(line)
    return 0


@data_command.command("verify")
@json_option
def verify_command(as_json: bool) -> int:
    """Check every stored file against its manifest and the official sizes; exit 1 if one differs."""
    from proctor.cli.imports import verify_lines
    from proctor.service.data.transfer import verify_data
    from proctor.service.results import documents

    verdicts = verify_data(read_settings(os.environ))
    if as_json:
        click.echo(documents.to_json({"sets": verdicts}))
    else:
        for line in verify_lines(verdicts):
            click.echo(line)
    return 1 if any(verdict["faults"] for verdict in verdicts) else 0
