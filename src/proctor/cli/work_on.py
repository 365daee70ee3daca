"""`proctor work-on`: what a worker starts for each run it takes; not for people, and in no list."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from typing import TextIO, cast

import click

from proctor.errors import in_one_line
from proctor.log import VARIABLE, Level, begin
from proctor.settings import read_settings


@click.command("work-on", hidden=True)
@click.argument("run")
@click.option("--owner", required=True, help="The name under which a worker has taken the run.")
@click.option("--lease", "lease_s", type=float, default=30.0, help="Seconds until the owner counts as dead.")
@click.option("--helps", is_flag=True, help="The run is another's: ask shards of it until none is left.")
@click.option("--parent", type=int, help="End when this process, which started it, has ended.")
@click.option("--cell", type=click.File(), help="The cell as JSON, where it is not as the run has it.")
def work_on_command(
    run: str, owner: str, lease_s: float, helps: bool, parent: int | None, cell: TextIO | None
) -> int:
    """Do the work of RUN, which a worker has taken as OWNER, and say in its row how it ended."""
    from proctor.plan import cell_from_json
    from proctor.service.context import open_context
    from proctor.service.runs.running import Interrupted
    from proctor.service.runs.work import Assignment, end_on_sigterm, help_on, work_on

    begin(cast(Level, os.environ.get(VARIABLE, "info")))
    try:
        end_on_sigterm()
        _say(f"process {os.getpid()} begins, as {owner}")
        with open_context(read_settings(os.environ)) as context:
            if helps:
                told = None if cell is None else cell_from_json(cell.read())
                help_on(context, run, Assignment(owner, lease_s, parent, told), say=_say)
            else:
                work_on(context, run, owner, lease_s=lease_s, say=_say)
    except Interrupted:  # outside its work: before it began, or when all was done
        _say("ended by a signal")
        return 130
    return 0


def _say(text: str) -> None:
    """A line of the run's log; a full disk swallows it."""
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    with suppress(OSError):
        print(f"{at} {in_one_line(text)}", file=sys.stderr, flush=True)
