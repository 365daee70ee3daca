"""`choices`: the letter that the reply states, read by the ladder, is the right one."""

from __future__ import annotations

from proctor.grading.contract import GraderEntry, NoSettings, any_answers
from proctor.grading.graders.exact import exact

ENTRY = GraderEntry(
    "choices",
    2,
    "the lettered option that the reply states, as a careful person reads it (the ladder `proctor/2`), is right",
    "lettered options in the row, and the right one",
    NoSettings,
    exact,
    any_answers,
    kind="choices",
)
