"""The suites and their tasks, as one table: what is asked, which answers count, how large the set is.

What is asked is an entry in one of the tables and a prompt. Only the readers of its published rows name a
task besides; docs/extending.md lists them.
"""

from __future__ import annotations

from collections.abc import Mapping

from proctor.suites.shapes import MAYBE, NO, YES, HubSet, Kind, Label, Suite, Task
from proctor.suites.tables_exams import (
    MEDICAL,
    MEDICAL_SUBJECTS,
    MMLU,
    MMLU_SUITE,
    PUBMEDQA,
    SUBJECTS,
    subject_title,
)
from proctor.suites.tables_glue import GLUE
from proctor.suites.tables_superglue import BOOLQ, SUPERGLUE

__all__ = [
    "BOOLQ",
    "MAYBE",
    "MEDICAL_SUBJECTS",
    "MMLU",
    "NO",
    "PUBMEDQA",
    "SUBJECTS",
    "SUITES",
    "TASKS",
    "YES",
    "HubSet",
    "Kind",
    "Label",
    "Suite",
    "Task",
    "subject_title",
]

SUITES: Mapping[str, Suite] = {suite.key: suite for suite in (GLUE, SUPERGLUE, MMLU_SUITE, MEDICAL)}

TASKS: Mapping[str, Task] = {task.key: task for suite in SUITES.values() for task in suite.tasks}
