"""`proctor label`: people grade kept replies by single keys, or in a file that a spreadsheet opens."""

from __future__ import annotations

import getpass
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proctor.cli.options import json_option
from proctor.errors import ConfigError
from proctor.settings import read_settings

if TYPE_CHECKING:
    from proctor.references import GradingRubric
    from proctor.service.context import Context
    from proctor.service.labelling.queue import LabelQueue

FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("label")
@click.argument("runs", metavar="RUN [RUN2 ...]", nargs=-1, required=True)
@click.option(
    "--rubric",
    type=FILE,
    metavar="FILE",
    help="TOML file with the criteria.  [default: that of the runs' judges, else `correct`]",
)
@click.option("--criterion", metavar="NAME", help="Only this criterion of the rubric.")
@click.option(
    "--random",
    "random_part",
    type=click.IntRange(min=0),
    default=50,
    show_default=True,
    metavar="N",
    help="How many items are drawn at random, which stand for all; a larger number goes on where a smaller ended.",
)
@click.option("--labeller", metavar="NAME", help="Who labels.  [default: the login]")
@click.option("--pairwise", is_flag=True, help="Which of the replies of RUN and RUN2 is better?")
@click.option(
    "--out", type=FILE, metavar="FILE", help="Write the labels that count as CSV; - is standard output."
)
@click.option(
    "--open",
    "only_open",
    is_flag=True,
    help="With --out: a form to fill in, with what you have not labelled.",
)
@click.option(
    "--in",
    "incoming",
    type=FILE,
    metavar="FILE",
    help="Take in the labels of a file (CSV, JSON lines or XLSX).",
)
@click.option("--status", is_flag=True, help="Only say how far labelling has come and what more labels buy.")
@json_option
def label_command(runs: tuple[str, ...], **given: Any) -> int:
    """Grade replies of RUN by single keys: blind, a random part first, then where graders disagree.

    With RUN2 the replies of both to the same items come one after the other, in an order that tells nobody which is
    which; with --pairwise it is asked which is better. Without a terminal, keys are read as lines. The labels of the
    random part correct a judge's score.
    """
    from proctor.service.context import open_context, runs_named
    from proctor.service.labelling.queue import queue
    from proctor.service.labelling.wish import LabelWish

    _check(given)
    with open_context(read_settings(os.environ)) as context:
        ids = [run.id for run in runs_named(context, runs)]
        wish = LabelWish(
            tuple(dict.fromkeys(ids)),
            given["labeller"] or login(),
            rubric=_rubric(given["rubric"]),
            pairwise=given["pairwise"],
            criterion=given["criterion"],
            random=given["random_part"],
        )
        made = queue(context, wish)
        if given["incoming"] is not None:
            return _take_in(context, made, given["incoming"], as_json=given["as_json"])
        if given["out"] is not None:
            return _write(context, made, given["out"], only_open=given["only_open"])
        if given["status"]:
            return _status(context, made, as_json=given["as_json"])
        return _label(context, made)


def login() -> str:
    """Who works at this terminal. Raises ConfigError where nobody can tell."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise ConfigError("Nobody can tell who labels here: say --labeller NAME") from None


def _check(given: dict[str, Any]) -> None:
    """Raises ConfigError for options that do not go together."""
    ways = [name for name in ("incoming", "out", "status") if given[name]]
    if len(ways) > 1:
        raise ConfigError("--in, --out and --status are given one at a time")
    if given["only_open"] and given["out"] is None:
        raise ConfigError("--open says what --out FILE writes: name the file")
    if given["as_json"] and not (given["status"] or given["incoming"]):
        raise ConfigError("--json goes with --status or --in")


def _rubric(path: Path | None) -> GradingRubric | None:
    from proctor.plan.rubrics import rubric_file

    return None if path is None else rubric_file(path)


def _take_in(context: Context, made: LabelQueue, path: Path, *, as_json: bool) -> int:
    from dataclasses import asdict

    from proctor.service.labelling.taken_in import take_in
    from proctor.service.results import documents

    try:
        body = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    found = take_in(context, made, path.name, body)
    click.echo(documents.to_json(asdict(found)) if as_json else found.told)
    return 0


def _write(context: Context, made: LabelQueue, path: Path, *, only_open: bool) -> int:
    from proctor.service.labelling.written import labels_csv, open_csv

    lines = open_csv(context, made) if only_open else labels_csv(context, made)
    if str(path) == "-":
        click.echo("".join(lines), nl=False)
        return 0
    try:
        with path.open(
            "w", encoding="utf-8-sig", newline=""
        ) as file:  # the mark tells spreadsheets what it is
            written = sum(1 for line in lines if file.write(line)) - 1
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    click.echo(f"{path}: {written:,} {'replies to label' if only_open else 'labels'}")
    return 0


def _status(context: Context, made: LabelQueue, *, as_json: bool) -> int:
    from proctor.service.labelling.progress import progress, progress_document
    from proctor.service.results import documents

    found = progress(context, made)
    if as_json:
        click.echo(documents.to_json(progress_document(found)))
    else:
        for line in found.told:
            click.echo(line)
    return 0


def _label(context: Context, made: LabelQueue) -> int:
    from proctor.cli.label_keys import keys
    from proctor.cli.label_session import LabelSession

    with keys(sys.stdin) as pressed:
        LabelSession(context, made, pressed).run()
    return 0
