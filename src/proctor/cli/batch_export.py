"""`proctor batch export`: batches as files: replies, tables, requests to send again, examples to train on."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from proctor.settings import read_settings

FORMS = ("jsonl", "csv", "parquet", "batch", "sft", "dpo", "kto")


@click.command("export")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    default="jsonl",
    show_default=True,
    help="jsonl: lines of an output file; csv, parquet: a row a request; batch: the requests, to send them again; "
    "sft, dpo, kto: examples to train on, of what was labelled.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File to write; a manifest is written beside it.  [default: standard output]",
)
@click.option(
    "--rows",
    "which",
    type=click.Choice(("all", "failures", "golden")),
    help="golden: labelled good, best or edited.  [default: all; golden for sft]",
)
@click.option(
    "--shape", type=click.Choice(("openai", "vllm")), default="openai", help="Of the lines of jsonl."
)
@click.option("--drop-reasoning", is_flag=True, help="Leave out what the model thought (examples).")
@click.option("--dedupe", is_flag=True, help="One example a prompt.")
@click.option(
    "--hold-out",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    metavar="SHARE",
    help="Write this share of the prompts to FILE.hold-out instead, the same prompts each time (examples).",
)
@click.option("--text", metavar="WORDS", help="Only rows with these words in the request or the reply.")
@click.option("--custom-id", metavar="PART", help="Only rows whose custom_id holds this.")
@click.option("--prefix", metavar="START", help="Only rows whose custom_id begins so.")
@click.option(
    "--status", metavar="STATUS", help="Only answered, failed, 4xx, 429, truncated, rate-limited, ..."
)
@click.option("--finish", metavar="REASON", help="Only replies that end so: stop, length, refused.")
@click.option("--candidate", metavar="NAME", help="Only requests about this.")
@click.option(
    "--candidate-by", metavar="HOW", help="What tells that: an expression over the custom_id, or $.path."
)
@click.option("--label", metavar="LABEL", help="Only rows labelled good, bad, best, edited, any or none.")
@click.option("--tag", metavar="TAG", help="Only rows with this tag.")
def export_command(runs: tuple[str, ...], form: str, output: Path | None, **words: Any) -> int:
    """Write what came of the batches RUN."""
    from proctor.errors import ConfigError
    from proctor.service.batches.benchmarks import run_named
    from proctor.service.batches.exports import files
    from proctor.service.batches.exports.rows import ExportWish
    from proctor.service.batches.results import RowFilter
    from proctor.service.context import open_context

    which, shape = words.pop("which"), words.pop("shape")
    options = {name: words.pop(name) for name in ("drop_reasoning", "dedupe", "hold_out")}
    wish = ExportWish(form, RowFilter.of(words), which, shape, **options).checked()  # type: ignore[arg-type]  # click has checked it
    if output is None and (form == "parquet" or wish.hold_out):
        raise ConfigError("Say with --output which file to write")
    with open_context(read_settings(os.environ)) as context:
        found = [run_named(context, each) for each in runs]
        if output is None:
            for chunk in files.chunks(context, found, wish):
                sys.stdout.buffer.write(chunk)
            return 0
        made = files.write(context, found, wish, output)
    counts = made.counts
    held_out = f", {counts.held_out:,} to {made.held_out}" if made.held_out else ""
    click.echo(
        f"{counts.written:,} rows written to {made.path}{held_out}; manifest {made.manifest}", err=True
    )
    for why, rows in counts.left_out.items():
        click.echo(f"{rows:,} left out: {why}", err=True)
    return 0
