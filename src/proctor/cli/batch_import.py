"""`proctor batch import`: outputs of batches made elsewhere, as runs to compare with."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from proctor.cli.options import json_option
from proctor.errors import Exit
from proctor.settings import read_settings

if TYPE_CHECKING:
    from proctor.service.batches.elsewhere import ImportedOutput

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("import")
@click.argument("outputs", nargs=-1, required=True, type=FILE, metavar="OUT.jsonl...")
@click.option(
    "--requests",
    type=FILE,
    metavar="IN.jsonl",
    help="The requests that were answered: with them it is known which replies are to the same request.",
)
@click.option("--model", metavar="NAME", help="What answered, where the lines do not say.")
@json_option
def import_command(outputs: tuple[Path, ...], requests: Path | None, model: str | None, as_json: bool) -> int:
    """Make a run of what a batch elsewhere gave: OpenAI, vLLM, Together, Anthropic and others of their shape.

    Files named together are one run: give a batch's error file beside its output file. Lines that cannot be read are
    named and left out. The same files again are the run that they became.
    """
    from proctor.service.batches.elsewhere import import_outputs
    from proctor.service.context import open_context
    from proctor.service.results import documents

    with open_context(read_settings(os.environ)) as context:
        found = import_outputs(context, outputs, requests, model)
    if as_json:
        told = {"before": found.before, "notes": found.notes, "bad_lines": found.bad, "faults": found.faults}
        click.echo(documents.to_json({**documents.result(found.result), "import": told}))
    else:
        for line in import_lines(found):
            click.echo(line)
    return int(Exit.PART if found.bad else Exit.DONE)


def import_lines(found: ImportedOutput) -> Iterator[str]:
    run = found.result.run
    failed = sum(found.result.tally.errors.values())
    again = "  (imported before)" if found.before else ""
    counts = f"{run.settled:,} of {run.planned:,} requests answered, {failed:,} failed"
    yield f"{run.id[:8]}  {run.cell.model}  {run.source_title}  {counts}{again}"
    if run.stopped:
        yield f"  {run.stopped}."
    yield from (f"  Note: {note}." for note in found.notes)
    yield from (f"  Bad line: {fault}" for fault in found.faults)
    if found.bad > len(found.faults):
        yield f"  and {found.bad - len(found.faults):,} more bad lines"
    yield f"To compare: proctor batch compare {run.id[:8]} RUN"
