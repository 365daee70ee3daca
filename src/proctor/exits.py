"""The exit codes of all commands."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum


class Exit(IntEnum):
    """The exit codes of all commands."""

    DONE = 0
    DEFECT = 1
    REQUEST = 2
    PART = 3
    GATE = 4
    NOTHING = 5
    INTERRUPTED = 130


# What scripts can rely on; docs/reference/cli.md has it as a table, `proctor run --help` names the first of it.
EXITS: Mapping[Exit, str] = {
    Exit.DONE: (
        "Done. For runs: every planned item has an outcome, or the run ended at its own `--for`, `--max-cost` or "
        "`--max-total-tokens` and no item failed, or `--until-decided` found it decided, or undecidable."
    ),
    Exit.DEFECT: (
        "A check did not pass (`compare --gate`, `verify`, `data verify`, `batch check`), `status --poll` ran out of "
        "its time, or proctor has a defect, which it then says."
    ),
    Exit.REQUEST: "The request was wrong, and nothing was asked.",
    Exit.PART: (
        "Part of it: some planned items have an outcome, others have none, because they failed or the run was "
        "stopped. What was measured is kept."
    ),
    Exit.GATE: (
        "A gate is not passed: `gate`, where a run is worse than the accepted one; `batch run --gate-same`, where too "
        "few replies are the same as before."
    ),
    Exit.NOTHING: (
        "Nothing of it: every item failed, or the model, the server or the database could not be used."
    ),
    Exit.INTERRUPTED: "Interrupted by Ctrl-C or SIGTERM. What was measured is kept.",
}
