"""`labels`: the one of a few names that the reply states, read by the ladder, is the right one."""

from __future__ import annotations

from proctor.grading.contract import GraderEntry, NoSettings, any_answers
from proctor.grading.graders.exact import exact

ENTRY = GraderEntry(
    "labels",
    2,
    "the label that the reply states, as a careful person reads it (the ladder `proctor/2`), is right",
    "answers that are a few names which return again and again",
    NoSettings,
    exact,
    any_answers,
    kind="labels",
)
