"""`proctor import`: runs of other tools beside proctor's own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from proctor.cli.options import json_option
from proctor.settings import read_settings

if TYPE_CHECKING:
    from proctor.service.data.logs import LogImport


@click.command("import")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH...")
@json_option
def import_command(paths: tuple[Path, ...], as_json: bool) -> int:
    """Import logs of lm-eval (results_*.json with samples_*.jsonl) and Inspect (.eval, .json) as runs.

    PATH is a log, a folder with logs, or the output file of a batch (see `proctor batch import`). A log that was
    imported before is not imported again.
    """
    from proctor.service.context import open_context
    from proctor.service.data.logs import import_logs
    from proctor.service.results import documents

    with open_context(read_settings(os.environ)) as context:
        found = import_logs(context, paths)
    if as_json:
        document = {
            "imported": [
                {
                    "path": str(each.path),
                    "before": each.before,
                    "notes": list(each.notes),
                    **documents.result(each.result),
                }
                for each in found.imported
            ],
            "failed": [{"path": str(path), "reason": reason} for path, reason in found.failed],
        }
        click.echo(documents.to_json(document))
    else:
        for line in _lines(found):
            click.echo(line)
    return 2 if found.failed else 0


def _lines(found: LogImport) -> Iterator[str]:
    """A line a run, what is off with it below, and at the end what to do with two that go together."""
    from proctor.figures import estimate

    for each in found.imported:
        run, scores = each.result.run, each.result.scores
        head = "nothing was scored"
        if scores:
            head = f"{scores[0].metric} {estimate(scores[0].estimate)}  n = {scores[0].estimate.scored:,}"
        again = "  (imported before)" if each.before else ""
        yield f"{run.id[:8]}  {run.cell.model}  {run.source_title}  {head}{again}"
        yield from (f"  Note: {note}." for note in each.notes)
    for path, reason in found.failed:
        yield f"FAILED  {reason if str(path) in reason else f'{path}: {reason}'}"
    if found.pair:
        yield f"To compare: proctor compare {' '.join(run.id[:8] for run in found.pair)}"
