"""The grader of an exam's own answers: what an extractor reads, compared as answers of the task's form are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from proctor.grading.extractors import Extractor
from proctor.grading.formats import Kind
from proctor.grading.vocabulary import Vocabulary
from proctor.types import Grade, Item, Reply


@dataclass(frozen=True, slots=True)
class Reads:
    """What the answers of a task are: their form, and its labels ready for reading."""

    kind: Kind
    vocabulary: Vocabulary | None


@dataclass(frozen=True, slots=True)
class ExamGrader:
    """One extractor over the tasks of an exam; it is named as the extractor is. `forms` are by task."""

    extractor: Extractor
    forms: Mapping[str, Reads]

    @property
    def name(self) -> str:
        return self.extractor.name

    def grade(self, item: Item, reply: Reply) -> Grade:
        form = self.forms[item.group]
        return self.extractor.grade_reply(item, reply, kind=form.kind, vocabulary=form.vocabulary)
