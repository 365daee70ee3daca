"""The suites and their tasks, as one table: what is asked, which answers count, how large the set is.

A task is an entry in one of the tables and a prompt; nothing else in the program names a task.
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
    "METRIC_VERSIONS",
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

# Part of what makes two scores comparable: raised when a metric starts to give other numbers.
METRIC_VERSIONS: Mapping[str, str] = {
    name: f"{name}/1"
    for name in (
        "accuracy",
        "accuracy_m",
        "accuracy_mm",
        "em",
        "f1",
        "f1a",
        "gender_parity",
        "macro_f1",
        "mcc",
        "pearson",
        "spearman",
    )
}

SUITES: Mapping[str, Suite] = {suite.key: suite for suite in (GLUE, SUPERGLUE, MMLU_SUITE, MEDICAL)}

TASKS: Mapping[str, Task] = {task.key: task for suite in SUITES.values() for task in suite.tasks}
