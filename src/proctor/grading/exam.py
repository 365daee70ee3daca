"""The grader of an exam's own answers: what an extractor reads, compared as answers of the task's form are."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field

from proctor.grading.extractors import Extractor
from proctor.grading.formats import AnswerFormat
from proctor.grading.vocabulary import Vocabulary
from proctor.protocols import Grader
from proctor.types import Grade, Item, Reply

FUNCTION = "python:"  # before the name of a function that grades, in a run's manifest and its grades
ROWS = "rows:"  # before a hash, where rows name their graders themselves
PARTS = frozenset({"json"})  # graders that give a share of a point; others score 0 or 1

# Judges' names tell whether a score may lie between right and wrong: by the rubric's scales, or because it is a
# preference, where a tie is half a win.
JUDGED = "judge/"
IN_PARTS = "score=mean"
BETWEEN = (f",{IN_PARTS}", ",against=")


def metric_of(grader: str) -> str:
    """What the scores of a grader make of a task where nothing else is counted."""
    parts = grader.partition("/")[0] in PARTS or grader.startswith((FUNCTION, ROWS))
    parts = parts or (grader.startswith(JUDGED) and any(mark in grader for mark in BETWEEN))
    return "mean" if parts else "accuracy"


@dataclass(frozen=True, slots=True)
class Reads:
    """What the answers of a task are: their form, and its labels ready for reading."""

    kind: AnswerFormat
    vocabulary: Vocabulary | None


@dataclass(frozen=True, slots=True)
class ExamGrader:
    """One extractor over the tasks of an exam, and other graders for some of them. `forms` and `others` are by task."""

    extractor: Extractor
    forms: Mapping[str, Reads]
    others: Mapping[str, Grader] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The extractor's, with those of the others."""
        own = [self.extractor.name] if len(self.others) < len(self.forms) else []
        return " and ".join(dict.fromkeys([*own, *(each.name for each in self.others.values())]))

    def grade(self, item: Item, reply: Reply) -> Grade | Awaitable[Grade]:
        if (other := self.others.get(item.group)) is not None:
            return other.grade(item, reply)
        form = self.forms[item.group]
        return self.extractor.grade_reply(item, reply, kind=form.kind, vocabulary=form.vocabulary)
