"""`proctor grade` and `proctor rescore`: what other graders make of the replies that a run has kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from proctor.cli.exits import OF_RUNS
from proctor.cli.judge import JUDGE, JudgingAsked, judged, judging_options
from proctor.cli.options import json_option
from proctor.errors import ConfigError
from proctor.plan.doors import from_params
from proctor.settings import read_settings

if TYPE_CHECKING:
    from proctor.service.grades.regrading import Regrading

MOST_SHOWN = 20
most_option = click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=MOST_SHOWN,
    show_default=True,
    metavar="N",
    help="Show at most N of the replies that are graded differently.",
)


@click.command("grade", epilog=OF_RUNS)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option(
    "--grader",
    "graders",
    multiple=True,
    required=True,
    metavar="NAME[:SETTINGS]",
    help="contains, number:rel=0.01, regex:pattern=..., json, date, normalized, exact, or an extractor such as "
    "proctor/2; repeatable. judge: a model, named by --judge.",
)
@judging_options
@json_option
def grade_command(runs: tuple[str, ...], graders: tuple[str, ...], as_json: bool, **given: Any) -> int:
    """Grade the kept replies of RUN and set the grades beside those that it has.

    `proctor show RUN --grader NAME` shows the run by them; the run's own scores stay as they are. Graders that compare
    ask nothing. With --grader judge --judge MODEL a model is asked about each reply; that is a run of its own, which is
    resumed like any other, and all further options are about it. --limit N then judges the first N replies, else it is
    how many of the replies are shown that are graded differently (20).
    """
    asked = JudgingAsked(*(given.pop(each.name) for each in fields(JudgingAsked)))
    if JUDGE in graders:
        if len(graders) > 1:
            raise ConfigError("--grader judge stands alone: give the others in a command of their own")
        return judged(runs, asked, given, as_json=as_json)
    asked.refuse_without_judge()
    if len(runs) > 1:
        raise ConfigError(f"{len(runs)} runs: only a judge grades several at once; name one")
    limit = from_params(given).get("limit", MOST_SHOWN)
    return _graded_again(runs[0], graders, limit, as_json)


def _graded_again(run: str, graders: tuple[str, ...], limit: int, as_json: bool) -> int:
    from proctor.service.context import open_context
    from proctor.service.grades.named import typed_here
    from proctor.service.grades.regrading import grade_kept

    with open_context(read_settings(os.environ)) as context:
        found = grade_kept(context, run, [typed_here(words) for words in graders])
    return _said(found, limit, as_json, "grader")


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
@click.option("--keep", is_flag=True, help="Keep what is found, as `proctor grade` does.")
@most_option
@json_option
def rescore_command(run: str, extractors: tuple[str, ...], keep: bool, limit: int, as_json: bool) -> int:
    """Read the kept replies of RUN again. Nothing is asked and the run's scores stay as they are."""
    from proctor.service.context import open_context
    from proctor.service.grades.regrading import rescore

    with open_context(read_settings(os.environ)) as context:
        found = rescore(context, run, extractors, keep=keep)
    return _said(found, limit, as_json, "extractor")


def _said(found: Regrading, limit: int, as_json: bool, word: str) -> int:
    from proctor.service.results import documents

    if as_json:
        click.echo(documents.to_json(_document(found, limit, word)))
    else:
        for line in _lines(found, limit, word):
            click.echo(line)
    return 0


def _lines(found: Regrading, limit: int, word: str) -> Iterator[str]:
    run, verb = found.run, "read" if word == "extractor" else "graded"
    yield f"Run {run.id[:8]}  {run.cell.model}  {run.source_title}: {found.replies:,} replies {verb} again"
    if found.errors:
        yield f"  {found.errors:,} attempts ended in an error: there is no reply in them"
    yield from _by_grader(found, limit, word)
    if len(found.by) > 1:
        yield ""
        yield from _differing(found, limit, verb)
    if found.kept:
        new = sum(found.kept.values())
        yield f"Kept beside the first grades: {', '.join(found.kept)} ({new:,} grades are new)"


def _by_grader(found: Regrading, limit: int, word: str) -> Iterator[str]:
    from proctor.cli.tables import columns
    from proctor.figures import estimate

    rows = [
        (
            each.grader,
            estimate(each.accuracy),
            f"{each.accuracy.scored:,}",
            ", ".join(f"{name} {n:,}" for name, n in each.outcomes.items()),
        )
        for each in found.by
    ]
    yield from columns(rows, (word, "accuracy", "n", "outcomes"))
    for each in found.by:
        if each.unread:
            yield f"{each.grader} found no answer in {len(each.unread):,}: {_some(each.unread, limit)}"
        for note in each.notes:
            yield f"{each.grader}: {note}"
    for pair in found.agreements:
        yield (
            f"{pair.first} and {pair.second} give the same score to {estimate(pair.share)} "
            f"of {pair.share.scored:,} replies"
        )


def _differing(found: Regrading, limit: int, verb: str) -> Iterator[str]:
    yield f"{len(found.differences):,} replies are {verb} differently" + (":" if found.differences else ".")
    for difference in found.differences[:limit]:
        given = "; ".join(
            f"{name}: {difference.answers[name] or '-'} ({difference.outcomes[name]})"
            for name in difference.answers
        )
        repeat = f", repeat {difference.repeat}" if difference.repeat else ""
        yield f"  {difference.item_id}{repeat}  target {difference.target or '-'}  {given}"
        yield f"      {' '.join(difference.reply.split())}"
    if len(found.differences) > limit:
        yield f"  ... and {len(found.differences) - limit:,} more (--limit N)"


def _some(ids: tuple[str, ...], limit: int) -> str:
    some = ", ".join(ids[:limit])
    return f"{some}{', ...' if limit else '...'}" if len(ids) > limit else some


def _document(found: Regrading, limit: int, word: str) -> dict[str, Any]:
    """`differences` holds at most `limit` of the `differing` replies."""
    from dataclasses import asdict

    from proctor.service.results import documents

    return {
        "run_id": found.run.id,
        "model": str(found.run.cell.model),
        "source": found.run.cell.source.name,
        "replies": found.replies,
        "errors": found.errors,
        f"{word}s": [
            {
                word: each.grader,
                "outcomes": dict(each.outcomes),
                "accuracy": documents.estimate(each.accuracy),
                "unread": list(each.unread),
                "ungraded": each.ungraded,
                "notes": list(each.notes),
            }
            for each in found.by
        ],
        "agreements": [
            {"first": pair.first, "second": pair.second, "share": documents.estimate(pair.share)}
            for pair in found.agreements
        ],
        "kept": dict(found.kept),
        "differing": len(found.differences),
        "differences": [asdict(difference) for difference in found.differences[:limit]],
    }
