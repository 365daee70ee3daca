"""`proctor rescore`: what other ways of reading make of the replies that a run has kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from proctor.cli.options import json_option
from proctor.settings import read_settings

if TYPE_CHECKING:
    from proctor.service.results.rescore import Rescoring


@click.command("rescore")
@click.argument("run", metavar="RUN")
@click.option(
    "--extractor",
    "extractors",
    multiple=True,
    required=True,
    metavar="NAME",
    help="proctor/2, proctor/1, mirage/1, simple-evals/1 or first-line/1; repeatable. One stands beside the run's own.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    metavar="N",
    help="Show at most N of the replies that are read differently.",
)
@json_option
def rescore_command(run: str, extractors: tuple[str, ...], limit: int, as_json: bool) -> int:
    """Read the kept replies of RUN again. Nothing is asked and the run's scores stay as they are."""
    from proctor.service.context import open_context
    from proctor.service.results import documents
    from proctor.service.results.rescore import rescore

    with open_context(read_settings(os.environ)) as context:
        found = rescore(context, run, extractors)
    if as_json:
        click.echo(documents.to_json(_document(found, limit)))
    else:
        for line in _lines(found, limit):
            click.echo(line)
    return 0


def _lines(found: Rescoring, limit: int) -> Iterator[str]:
    from proctor.cli.tables import columns
    from proctor.figures import estimate

    run = found.run
    yield f"Run {run.id[:8]}  {run.cell.model}  {run.source_title}: {found.replies:,} replies read again"
    if found.errors:
        yield f"  {found.errors:,} attempts ended in an error: there is no reply to read"
    rows = [
        (
            each.extractor,
            estimate(each.accuracy),
            f"{each.accuracy.scored:,}",
            ", ".join(f"{name} {n:,}" for name, n in each.outcomes.items()),
        )
        for each in found.read
    ]
    yield from columns(rows, ("extractor", "accuracy", "n", "outcomes"))
    for each in found.read:
        if each.unread:
            yield f"{each.extractor} found no answer in {len(each.unread):,}: {_listed(each.unread, limit)}"
    if len(found.read) < 2:
        return
    yield ""
    yield f"{len(found.differences):,} replies are read differently" + (":" if found.differences else ".")
    for difference in found.differences[:limit]:
        said = "; ".join(
            f"{name}: {difference.answers[name] or '-'} ({difference.outcomes[name]})"
            for name in difference.answers
        )
        repeat = f", repeat {difference.repeat}" if difference.repeat else ""
        yield f"  {difference.item_id}{repeat}  target {difference.target or '-'}  {said}"
        yield f"      {' '.join(difference.reply.split())}"
    if len(found.differences) > limit:
        yield f"  ... and {len(found.differences) - limit:,} more (--limit N)"


def _listed(ids: tuple[str, ...], limit: int) -> str:
    some = ", ".join(ids[:limit])
    return f"{some}{', ...' if limit else '...'}" if len(ids) > limit else some


def _document(found: Rescoring, limit: int) -> dict[str, object]:
    """`differences` holds at most `limit` of the `differing` replies."""
    from proctor.service.results import documents

    return {
        "run_id": found.run.id,
        "model": str(found.run.cell.model),
        "source": found.run.cell.source.name,
        "replies": found.replies,
        "errors": found.errors,
        "extractors": [
            {
                "extractor": each.extractor,
                "outcomes": dict(each.outcomes),
                "accuracy": documents.estimate(each.accuracy),
                "unread": list(each.unread),
            }
            for each in found.read
        ],
        "differing": len(found.differences),
        "differences": [
            {
                "item_id": each.item_id,
                "repeat": each.repeat,
                "target": each.target,
                "answers": dict(each.answers),
                "outcomes": dict(each.outcomes),
                "reply": each.reply,
            }
            for each in found.differences[:limit]
        ],
    }
