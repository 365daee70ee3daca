"""The suites and their tasks, as one table: what is asked, which answers count, how large the set is.

What is asked is an entry in one of the tables and a prompt. Only the readers of its published rows name a
task besides; docs/extending.md lists them.
"""

from __future__ import annotations

from collections.abc import Mapping

from proctor.errors import ConfigError
from proctor.sources.exams.tables.exams import MEDICAL, MMLU_SUITE
from proctor.sources.exams.tables.glue import GLUE
from proctor.sources.exams.tables.shapes import Suite, Task
from proctor.sources.exams.tables.superglue import SUPERGLUE

SUITES: Mapping[str, Suite] = {suite.key: suite for suite in (GLUE, SUPERGLUE, MMLU_SUITE, MEDICAL)}

TASKS: Mapping[str, Task] = {task.key: task for suite in SUITES.values() for task in suite.tasks}


def suite_named(name: str) -> Suite:
    """The suite of this name, in capitals or not. Raises ConfigError, in the words of the API's specification."""
    if name.lower() not in SUITES:
        raise ConfigError(f"Invalid benchmark suite. Supported: {', '.join(SUITES)}")
    return SUITES[name.lower()]
