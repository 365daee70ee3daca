"""Which grader grades each task of an exam: the one that was named, or what its answers and its prompt suggest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from proctor.errors import ConfigError, DataError
from proctor.findings import METRIC_VERSIONS
from proctor.grading.exam import ROWS, ExamGrader, metric_of
from proctor.manifest import ExamFacts
from proctor.protocols import Grader
from proctor.references import ExamRef
from proctor.sources.exams.prompts.styles import OWN
from proctor.sources.exams.rows.normal_form import Row
from proctor.sources.exams.tables.shapes import Task

# Graders of open answers know many languages' words: runs without free text do without the time of their import.
if TYPE_CHECKING:
    from proctor.grading.spec import OpenGrader

SHOWN_ROWS = 3


@dataclass(frozen=True, slots=True)
class Chosen:
    """A task's grader, and why it was taken, in a sentence for a person."""

    grader: Grader
    why: str


@dataclass(frozen=True, slots=True)
class GraderChoosing:
    """What the choice of graders rests on: the reference's own words, the tasks, and the right answers of all rows.

    `asked` are the tasks whose prompts are proctor's own and ask for a last line.
    """

    ref: ExamRef
    tasks: tuple[Task, ...]
    rows: tuple[Row, ...] = field(repr=False)
    asked: frozenset[str]

    def chosen(self, *, replayed: bool = False) -> dict[str, Chosen]:
        """By task; none for those that the exam's own grader grades. `replayed`: the replies were made elsewhere.

        Raises: ConfigError for a grader that is unknown or fits no task, DataError for rows whose answers it cannot
        compare with.
        """
        if self.ref.grader is not None and not self._texts():
            raise ConfigError(
                f"--grader {self.ref.grader}: no task here has answers of free text; choices and labels are graded by "
                "the extractor (--extractor). --answer-type text takes a file's answers as texts"
            )
        return {task.key: choice for task in self._texts() if (choice := self._choice(task, replayed))}

    def _texts(self) -> list[Task]:
        return [task for task in self.tasks if task.kind == "text"]

    def _choice(self, task: Task, replayed: bool) -> Chosen | None:
        if self.ref.grader is not None:
            return self._named(task, self.ref.grader, "--grader")
        # Who names an extractor wants replies read as it reads them.
        if self.ref.extractor is not None and task.grader is None:
            return None
        of_rows = [row for row in self._rows(task) if row.grader is not None]
        return self._by_rows(task, of_rows, replayed) if of_rows else self._for_all(task, replayed)

    def _for_all(self, task: Task, replayed: bool) -> Chosen | None:
        from proctor.grading.choosing import choose

        if task.grader is not None:
            return self._named(task, task.grader, f"task {task.key}: grader")
        answers = [rights(row) for row in self._rows(task) if row.grader is None]
        if not answers:
            return None
        found = choose(answers, asks_for_line=task.key in self.asked and not replayed)
        return Chosen(found.grader, found.why)

    def _by_rows(self, task: Task, of_rows: Sequence[Row], replayed: bool) -> Chosen:
        from proctor.grading.rowwise import RowGrader
        from proctor.grading.spec import parse_grader

        graders = {row.id: parse_grader(row.grader or "", where=row.id) for row in of_rows}
        self._check(task, [(row, graders[row.id]) for row in of_rows])
        rest = self._for_all(task, replayed) or Chosen(graders[of_rows[0].id], "")
        others = f" Of the others: {rest.why}" if rest.why else ""
        return Chosen(
            RowGrader(graders, rest.grader),
            f"Grader of its own in {len(of_rows):,} rows, by the column of the file.{others}",
        )

    def _named(self, task: Task, words: str, where: str) -> Chosen:
        from proctor.grading.spec import parse_grader

        grader = parse_grader(words, where=where)
        self._check(task, [(row, grader) for row in self._rows(task)])
        return Chosen(grader, f"Grader {grader.name}: it was named.")

    def began(self, task: str, words: str) -> Grader:
        """The grader that a run began with. Raises: ConfigError, DataError where rows name others now."""
        from proctor.grading.spec import parse_grader

        if not words.startswith(ROWS):
            return parse_grader(words, where=task)
        spec = next(each for each in self.tasks if each.key == task)
        of_rows = [row for row in self._rows(spec) if row.grader is not None]
        for replayed in (False, True):
            found = self._by_rows(spec, of_rows, replayed).grader if of_rows else None
            if found is not None and found.name == words:
                return found
        raise DataError(f"{self.ref.listed}: its rows name other graders than those that the run began with")

    def _rows(self, task: Task) -> list[Row]:
        """Those whose right answers are known."""
        return [row for row in self.rows if row.task == task.key and row.target is not None]

    def _check(self, task: Task, graded: Sequence[tuple[Row, OpenGrader]]) -> None:
        faults = [
            f"{row.id}, {grader.name}: {fault}"
            for row, grader in graded
            if (fault := grader.fault(rights(row)))
        ]
        if faults:
            more = f"\n  ... and {len(faults) - SHOWN_ROWS:,} more" if len(faults) > SHOWN_ROWS else ""
            told = "\n  ".join(faults[:SHOWN_ROWS])
            raise DataError(
                f"{len(faults):,} rows of {task.key} have answers that the grader cannot compare with:\n  {told}{more}"
            )


def rights(row: Row) -> tuple[str, ...]:
    return (row.target or "", *row.aliases)


def choosing_of(ref: ExamRef, tasks: Sequence[Task], rows: Sequence[Row]) -> GraderChoosing:
    texts = {task.key for task in tasks if task.kind == "text"}
    # Prompts that are named as the form of answers is are proctor's own, and ask for "Answer: ..." at the end.
    own = {task.key for task in tasks if task.prompt == task.kind and ref.style in (None, OWN)}
    return GraderChoosing(
        ref, tuple(tasks), tuple(row for row in rows if row.task in texts), frozenset(own & texts)
    )


def graded_by(exam: ExamGrader, graders: Mapping[str, Grader]) -> ExamGrader:
    return replace(exam, others=graders)


def with_graders(facts: ExamFacts, tasks: Sequence[Task], graders: Mapping[str, Grader]) -> ExamFacts:
    """The facts with who grades what, and the metrics that the scores make."""
    specs = dict(facts.tasks)
    for task in tasks:
        grader = graders.get(task.key)
        words = None if grader is None else words_of(grader)
        counted = task.metrics if words is None or task.kind == "text" else ()
        if words is not None and metric_of(words) != "accuracy":
            counted = (metric_of(words),)
        specs[task.key] = replace(
            specs[task.key],
            grader=words,
            official=counted or (metric_of(words or ""),),
            also=task.also if words is None else (),
        )
    metrics = dict.fromkeys(metric for task in tasks for metric in specs[task.key].metrics)
    return replace(
        facts, tasks=specs, metric_versions={metric: METRIC_VERSIONS[metric] for metric in metrics}
    )


def words_of(grader: Grader) -> str:
    """What gives the same grader again: its name says it, or stands for settings too long for a name."""
    words: str = getattr(grader, "words", grader.name)
    return words


def graders_in(chosen: Mapping[str, Chosen]) -> dict[str, Grader]:
    return {task: choice.grader for task, choice in chosen.items()}


def said_of(chosen: Mapping[str, Chosen]) -> tuple[str, ...]:
    """In sentences for a person, before anything is spent."""
    some = len(chosen) > 1
    return tuple(
        f"{task}: {choice.why}" if some else choice.why for task, choice in chosen.items() if choice.why
    )
