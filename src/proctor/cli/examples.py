"""`proctor examples`: the files that the documents' commands name, in a folder of one's own."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from proctor.cli.shipped import EXAMPLES, shipped
from proctor.errors import ConfigError


@click.command("examples")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=".", metavar="[FOLDER]")
def examples_command(folder: Path) -> int:
    """Write the examples of the documents into FOLDER (this one, if none is named): questions, requests, tasks, agents.

    Then every command of the documents works there: `proctor run examples/questions.csv --model simulator/sim`, or
    `proctor rollouts run configs/demo.toml`. Files that are there already stay as they are.
    """
    written = 0
    for name in EXAMPLES:
        root = shipped(name)
        # pip compiles the Python files of the tasks too.
        for source in sorted(p for p in root.rglob("*") if p.is_file() and p.parent.name != "__pycache__"):
            place = folder / name / source.relative_to(root)
            if not place.exists():
                _copied(source, place)
                written += 1
    click.echo(f"{written} files written to {' and '.join(f'{folder / name}/' for name in EXAMPLES)}")
    return 0


def _copied(source: Path, place: Path) -> None:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, place)
    except OSError as error:
        raise ConfigError(f"{place}: {error.strerror or error}") from error
