"""`proctor dataset`: one's own questions and requests by a name, here or on a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from proctor.cli.dataset_doors import Told, asked, reading_of_words
from proctor.cli.options import json_option
from proctor.errors import ConfigError


@click.group("dataset")
def dataset_command() -> None:
    """Keep files of questions or requests under a name that runs know (here, or with --server there)."""


_LAYOUT = (
    click.option(
        "--column",
        "columns",
        multiple=True,
        metavar="PART=COLUMN",
        help="Which column is the question, answer, choices (repeatable), id or cluster; of requests custom_id; "
        "repeatable.",
    ),
    click.option(
        "--sheet", metavar="NAME", help="Which sheet of a workbook.  [default: the first with cells]"
    ),
    click.option(
        "--answer-type",
        type=click.Choice(["choices", "labels", "text"]),
        help="How answers are read.  [default: seen from the rows]",
    ),
    click.option(
        "--numbers",
        type=click.Choice(["from-0", "from-1", "texts"]),
        help="What numbers as answers mean: options' places or texts.  [default: seen from the rows]",
    ),
    click.option("--lenient", is_flag=True, help="Leave out bad rows; they are named, and scores say so."),
    click.option(
        "--grader",
        metavar="NAME[:SETTINGS]",
        help="How answers in free text are graded: contains, number:rel=0.01, ...  [default: by the answers]",
    ),
    click.option(
        "--template", metavar="TEXT", help="A table of requests: how a row becomes a prompt, with {columns}."
    ),
    click.option(
        "--gold", metavar="FIELD", help="Requests: the field of their lines that holds the right answer."
    ),
)


def _layout_options(command: Any) -> Any:
    for option in reversed(_LAYOUT):
        command = option(command)
    return command


project_option = click.option(
    "--project-id", type=int, default=1, show_default=True, metavar="N", help="Whose it is."
)


@dataset_command.command("add")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option(
    "--name", metavar="NAME", help="What it is called.  [default: the file's name without its ending]"
)
@click.option(
    "--holds",
    type=click.Choice(["questions", "requests"]),
    help="What is in it.  [default: told by its first line]",
)
@project_option
@_layout_options
@json_option
def add_command(
    files: tuple[Path, ...],
    name: str | None,
    holds: str | None,
    project_id: int,
    as_json: bool,
    **layout: Any,
) -> int:
    """Keep FILE (CSV, TSV, JSONL, JSON, Parquet, XLSX), or a suite's TOML and the FILES it names, as a data set.

    A file of requests, in OpenAI's batch format or one of its dialects, is one that `proctor batch run NAME` sends.
    """
    from proctor.service.datasets.told_apart import paths_hold_requests

    with asked() as door:
        if holds == "requests" or (holds is None and (layout["template"] or paths_hold_requests(files))):
            made = door.add_requests(files, name, project_id, reading_of_words(layout))
        else:
            made = door.add(files, name, project_id, _of_questions(layout))
    if not made["made"] and not as_json:
        click.echo(f"It is here already, as {made['name']!r}", err=True)
    _show(made, as_json)
    return 0


def _of_questions(layout: dict[str, Any]) -> dict[str, Any]:
    """Raises ConfigError for what only requests have."""
    for option in ("template", "gold"):
        if layout[option]:
            raise ConfigError(
                f"--{option} is of requests, and this is a file of questions (--holds requests)"
            )
    return {name: value for name, value in layout.items() if name not in ("template", "gold")}


@dataset_command.command("list")
@click.option("--project-id", type=int, metavar="N", help="Only of this project.")
@json_option
def list_command(project_id: int | None, as_json: bool) -> int:
    """List the data sets."""
    from proctor.cli.tables import columns
    from proctor.service.results import documents

    with asked() as door:
        found = door.listed(project_id)
    if as_json:
        click.echo(documents.to_json({"datasets": found}))
        return 0
    rows = [
        (
            each["name"],
            each["holds"],
            f"{each['rows']:,}",
            each["answer_type"] or "",
            each["format"],
            _state(each),
        )
        for each in found
    ]
    for line in columns(rows, ("name", "holds", "rows", "answers", "format", "")):
        click.echo(line)
    return 0


def _state(of: Told) -> str:
    return "cannot be asked yet: see `proctor dataset show`" if of["error"] else ""


@dataset_command.command("show")
@click.argument("name")
@project_option
@json_option
def show_command(name: str, project_id: int, as_json: bool) -> int:
    """Show a data set: its columns and first rows, how it is understood, what is wrong, what it can show."""
    with asked() as door:
        _show(door.one(name, project_id), as_json)
    return 0


@dataset_command.command("change")
@click.argument("name")
@project_option
@_layout_options
@json_option
def change_command(name: str, project_id: int, as_json: bool, **layout: Any) -> int:
    """Read a data set otherwise from now on. What is not named is seen in its rows again."""
    with asked() as door:
        of_requests = door.one(name, project_id).get("holds") == "requests"
        wish = {"reading": reading_of_words(layout)} if of_requests else {"layout": _of_questions(layout)}
        _show(door.change(name, project_id, wish), as_json)
    return 0


@dataset_command.command("rename")
@click.argument("name")
@click.argument("new")
@project_option
def rename_command(name: str, new: str, project_id: int) -> int:
    """Call a data set NEW, in its runs and schedules too."""
    with asked() as door:
        made = door.change(name, project_id, {"name": new})
    click.echo(f"{name} is called {made['name']} now")
    return 0


@dataset_command.command("rm")
@click.argument("name")
@project_option
def rm_command(name: str, project_id: int) -> int:
    """Delete a data set; runs that have ended keep what they asked."""
    with asked() as door:
        door.remove(name, project_id)
    click.echo(f"Data set {name} deleted")
    return 0


def _show(of: Told, as_json: bool) -> None:
    from proctor.service.results import documents

    if as_json:
        click.echo(documents.to_json(of))
        return
    for line in _lines_of_requests(of) if of.get("holds") == "requests" else _lines(of):
        click.echo(line)


def _lines(of: Told) -> Iterator[str]:
    from proctor.cli.tables import columns
    from proctor.figures import fraction

    found = of["found"]
    yield f"{of['name']}  {found['format']}, {found['rows']:,} rows, {of['bytes']:,} bytes"
    yield from (f"  {line}" for line in found["understood"])
    if found["error"] is None:
        least = found["detectable"]
        size = "no difference of two models" if least is None else f"differences from {fraction(least)} on"
        yield f"  {found['items']:,} items show {size}, and a score to +-{fraction(found['half_width'])}"
        yield "  (with 80 % power at p < 0.05, where both are right on 80 % of the items)"
    else:
        yield from (f"  {line}" for line in found["error"].splitlines())
        parts = "question, answer, choices, id, cluster"
        yield f"  -> proctor dataset change {of['name']} --column PART=COLUMN (parts: {parts})"
    if found["first"]:
        names = [_short(name) for name in found["columns"]]
        rows = [(each["where"], *map(_short, each["cells"])) for each in found["first"]]
        yield ""
        yield from columns(rows, ("", *names))


def _lines_of_requests(of: Told) -> Iterator[str]:
    from proctor.cli.tables import columns

    yield f"{of['name']}  {of['format']}, {of['count']:,} requests, {of['bytes']:,} bytes"
    for each in (*of["notes"], *of["faults"]):
        place = f"line {each['line']:,}: " if each["line"] is not None else ""
        yield f"  {place}{each['message']}"
    if (more := of["bad"] - len(of["faults"])) > 0:
        yield f"  and {more:,} more lines that cannot be sent"
    yield f"  -> proctor batch run {of['name']} --model PROVIDER/NAME"
    yield ""
    rows = [
        (f"line {each['line']}", _short(each["custom_id"]), _short(each["prompt"])) for each in of["preview"]
    ]
    yield from columns(rows, ("", "custom_id", "prompt"))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 40 else f"{line[:39]}\u2026"
