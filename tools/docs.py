"""Write the generated parts of the documents, or check that they are fresh.

    python tools/docs.py            rewrite what stands between the markers
    python tools/docs.py --check    exit 1 and name each stale file

A part looks like `<!-- generated: map -->` ... `<!-- end -->`, in README.md or anywhere below docs/.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.testing import CliRunner

if TYPE_CHECKING:
    from proctor.plan.option import RunOption

ROOT = Path(__file__).parents[1]
PART = re.compile(r"^<!-- generated: (\S+) -->\n(.*?)^<!-- end -->$", re.DOTALL | re.MULTILINE)
MARK = re.compile(r"^<!-- (generated: |end)", re.MULTILINE)
HELP_WIDTH = 100


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(content: object) -> str:
    return str(content).replace("|", "\\|")


def source_map() -> str:
    """Every file with the first line of its docstring."""
    root = ROOT / "src" / "proctor"
    paths = sorted(root.rglob("*.py"), key=lambda p: (p.parent.relative_to(root).parts, p.name))
    names = [path.relative_to(root).as_posix() for path in paths]
    width = max(map(len, names))
    lines = (f"{name:{width}}  {_first_line(path)}" for name, path in zip(names, paths, strict=True))
    return "```text\n" + "\n".join(lines) + "\n```\n"


def _first_line(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


def commands() -> str:
    """The help of every command, as a terminal of 100 columns shows it."""
    from proctor.app import program

    proctor = program()
    return "\n".join(
        f"## `{' '.join(['proctor', *path])}`\n\n```text\n{_help(proctor, path)}\n```\n"
        for path in command_paths(proctor, [])
    )


def command_paths(command: click.Command, path: list[str]) -> Iterator[list[str]]:
    """The words that call the command, and those of all commands below it."""
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None and not below.hidden:
                yield from command_paths(below, [*path, name])


def _help(program: click.Command, path: list[str]) -> str:
    runner = CliRunner()
    said = runner.invoke(program, [*path, "--help"], prog_name="proctor", terminal_width=HELP_WIDTH)
    if said.exit_code != 0:
        raise SystemExit(f"proctor {' '.join(path)} --help failed: {said.output}{said.exception or ''}")
    return "\n".join(line.rstrip() for line in said.output.splitlines())


def settings() -> str:
    """The environment variables that are read."""
    from proctor.settings.variables import SETTINGS

    rows = [
        (f"`{s.name}`", s.what + (" A secret: never stored or shown." if s.secret else ""), s.default)
        for s in SETTINGS
    ]
    return table(("variable", "what it does", "default"), rows)


def errors() -> str:
    """A paragraph for each kind of error, in the order of errors.py."""
    from proctor import errors as module
    from proctor.errors import ProctorError

    kinds = [k for k in vars(module).values() if isinstance(k, type) and issubclass(k, ProctorError)]
    return "\n".join(map(_error, kinds))


def _error(kind: type) -> str:
    about = (kind.__doc__ or "").strip().partition("\n")[0]
    facts = {name: getattr(kind, name, None) for name in ("slug", "http_status", "exit_code", "cure")}
    retried = "The request is sent again by itself." if getattr(kind, "retryable", False) else "Not retried."
    stops = " It stops the run at once." if getattr(kind, "stops_run", False) else ""
    return (
        f"### `{facts['slug']}`\n\n{about}\n"
        f"HTTP status {facts['http_status']}, exit code {facts['exit_code']}. {retried}{stops}\n\n"
        f"**What to do:** {facts['cure']}\n"
    )


def exits() -> str:
    """The exit codes of all commands."""
    from proctor.errors import EXITS

    return table(("code", "means"), [(f"`{code:d}`", words) for code, words in EXITS.items()])


def options() -> str:
    """Each option of a run with its spellings, values and default."""
    from proctor.plan.wanted import OF_EXAMS

    return _options(OF_EXAMS)


def batch_options() -> str:
    """Each option of a batch, in the same way."""
    from proctor.plan.wanted import OF_BATCHES

    return _options(OF_BATCHES)


def _options(options: Iterable[RunOption]) -> str:
    from proctor.plan.option import SUITES

    rows = [
        (
            f"`{o.flag_word}`" + (f", `{o.short}`" if o.short else ""),
            f"`{o.name}`",
            f"`{o.key}`" if o.at_server else "-",
            f"`{o.ollama}`" if o.ollama else "",
            o.help + (f" For {o.whose}." if o.sources == SUITES else ""),
            o.kind.range_told,
            o.default_told,
        )
        for o in options
    ]
    return table(
        ("command line", "Python", "REST, form", "`ollama_params`", "what", "values", "default"), rows
    )


def suites() -> str:
    """Each suite with its tasks."""
    from proctor.sources.exams.tables.tasks import SUITES

    return "\n".join(_suite(suite) for suite in SUITES.values())


def _suite(suite: object) -> str:
    from proctor.sources.exams.tables.shapes import Suite

    assert isinstance(suite, Suite)
    sizes = [task.official_size for task in suite.tasks]
    known = sum(size for size in sizes if size)
    rows = [
        (
            f"`{t.key}`",
            t.title,
            ", ".join(t.metrics),
            "-" if t.official_size is None else f"{t.official_size:,}",
        )
        for t in suite.tasks
    ]
    head = f"## `{suite.key}`: {suite.title}\n\n{len(rows)} task{'s' * (len(rows) > 1)}, {known:,} items in all.\n\n"
    return head + table(("task", "title", "metric", "official size"), rows)


def providers() -> str:
    """The providers, and whether they can list their models."""
    from proctor.providers import PROVIDERS

    rows = [(f"`{name}`", entry.title, "yes" if entry.lister else "no") for name, entry in PROVIDERS.items()]
    return table(("provider", "what it asks", "lists its models"), rows)


def spellings() -> str:
    """Under which name each server program takes a setting, and where that is known from."""
    from proctor.providers.protocols.spellings import FIELDS, SPELLINGS, UNKNOWN, Spelling

    def name(of: Spelling, field: str) -> str:
        theirs = of.names.get(field)
        return "-" if theirs is None else f"`{theirs}`{' ?' if field in of.unsure else ''}"

    def thinking(of: Spelling) -> str:
        fields = dict.fromkeys(field for said in of.thinking.values() for field in said)
        return ", ".join(f"`{field}`" for field in fields) or "-"

    fields = [field for field in FIELDS if field != "context_tokens"]
    rows = [
        (title, *(name(of, field) for field in fields), thinking(of), of.basis)
        for title, of in [*SPELLINGS.items(), ("any other", UNKNOWN)]
    ]
    return table(("server", *fields, "think", "known from"), rows)


def graders() -> str:
    """Each grader with what it needs and its settings."""
    from proctor.grading.graders.table import GRADERS

    return "\n".join(_grader(grader) for grader in GRADERS.values())


def _grader(grader: object) -> str:
    from proctor.grading.contract import GraderEntry

    assert isinstance(grader, GraderEntry)
    lines = [f"### `{grader.full_name}`\n", f"{grader.what[:1].upper()}{grader.what[1:]}.\n"]
    lines.append(f"Right answers: {grader.needs}.\n")
    rows = [
        (
            f"`{one.name}`",
            _setting_says(one.metadata),
            f"`{one.default}`" if one.default not in ("", ()) else "",
        )
        for one in fields(grader.options)
    ]
    return "\n".join(lines) + (f"\n{table(('setting', 'says', 'default'), rows)}" if rows else "")


def _setting_says(metadata: Mapping[str, Any]) -> str:
    values = ", ".join(f"`{value}`" for value in metadata["one_of"])
    return f"{metadata['says']} ({values})" if values else str(metadata["says"])


def schema() -> str:
    """The tables of the database with their columns."""
    from proctor.store.core.tables import METADATA

    parts = []
    for t in METADATA.sorted_tables:
        rows = [(f"`{c.name}`", c.type, "" if c.nullable else "required", _key(c)) for c in t.columns]
        parts.append(f"## `{t.name}`\n\n" + table(("column", "type", "", "key"), rows))
    return "\n".join(parts)


def _key(column: object) -> str:
    from sqlalchemy import Column

    assert isinstance(column, Column)
    marks = {"primary key": column.primary_key, "unique": column.unique}
    foreign = [f"refers to `{key.target_fullname}`" for key in column.foreign_keys]
    return ", ".join([name for name, holds in marks.items() if holds] + foreign)


PARTS: Mapping[str, Callable[[], str]] = {
    "map": source_map,
    "cli": commands,
    "settings": settings,
    "errors": errors,
    "exits": exits,
    "options": options,
    "batch-options": batch_options,
    "suites": suites,
    "providers": providers,
    "graders": graders,
    "spellings": spellings,
    "schema": schema,
}


def fresh(text: str, where: str, parts: Mapping[str, Callable[[], str]] = PARTS) -> str:
    """The document with its generated parts written anew; SystemExit if a marker is wrong."""

    def written(found: re.Match[str]) -> str:
        if found[1] not in parts:
            raise SystemExit(f"{where}: no part {found[1]!r}; known: {', '.join(parts)}")
        return f"<!-- generated: {found[1]} -->\n{parts[found[1]]()}<!-- end -->"

    if len(MARK.findall(text)) != 2 * len(PART.findall(text)):
        raise SystemExit(f"{where}: each `<!-- generated: NAME -->` needs its own `<!-- end -->` line")
    return PART.sub(written, text)


def documents(root: Path) -> list[Path]:
    """README.md and everything below docs/."""
    return [p for p in (root / "README.md", *sorted(root.glob("docs/**/*.md"))) if p.is_file()]


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    """The exit code: 1 if --check found a stale document."""
    check = "--check" in arguments
    stale = 0
    for path in documents(root):
        text = path.read_text(encoding="utf-8")
        where = path.relative_to(root).as_posix()
        new = fresh(text, where)
        if new == text:
            continue
        stale += 1
        if check:
            print(f"{where} is stale: run `make docs`")
        else:
            path.write_text(new, encoding="utf-8")
            print(f"wrote {where}")
    return int(check and stale > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
