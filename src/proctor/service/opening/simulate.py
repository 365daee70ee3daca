"""`proctor simulate`: the simulator with everything this machine knows the answers to."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from proctor.errors import ConfigError, DataMissing
from proctor.references import ExamRef
from proctor.service.kinds import kind_of
from proctor.service.opening.sources import open_source
from proctor.settings import Settings
from proctor.simulator import OPTIONS, KnownAnswer, read_options, write_answers
from proctor.simulator.serve import serve
from proctor.sources.exams.tables.tasks import SUITES

# Decided here, not by the user: the answers come from this machine's rows.
USER_OPTIONS = tuple(option for option in OPTIONS if option.flag not in ("--answers", "--until-stdin-closes"))


def known_answers(settings: Settings, files: Sequence[Path]) -> dict[str, KnownAnswer]:
    """Answers to the sample rows, to imported rows, and to the questions of `files`."""
    # Each prompt in its three wordings; in other styles, and with examples before it, it is guessed.
    refs = [ExamRef("suite", suite, preset="full", rows="sample", wording="all") for suite in SUITES]
    refs += [
        ExamRef("suite", suite.key, tasks=(task.key,), preset="full", rows="imported", wording="all")
        for suite in SUITES.values()
        for task in suite.tasks
    ]
    # What a lenient run leaves out, nobody asks.
    refs += [ExamRef("file", str(path.resolve()), lenient=True) for path in files]
    known: dict[str, KnownAnswer] = {}
    for ref in refs:
        try:
            known.update(kind_of(ref).answers(open_source(ref, settings)))
        except DataMissing:
            continue  # not imported: the simulator need not know it
    return known


def serve_simulator(settings: Settings, files: Sequence[Path], values: Mapping[str, Any]) -> int:
    """Serve until stopped. `values` are the simulator's options by name; returns the exit code.

    Raises ConfigError naming the option that cannot be meant.
    """
    with tempfile.TemporaryDirectory(prefix="proctor-simulate-") as folder:
        path = Path(folder) / "answers.jsonl"
        write_answers(path, known_answers(settings, files))
        try:
            setup = read_options({**values, "answers": path})
        except ValueError as error:
            raise ConfigError(str(error)) from None
        return serve(setup)
