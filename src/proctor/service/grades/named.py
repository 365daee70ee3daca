"""Which grader a name means for a run, and under which names its grades are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proctor.errors import ConfigError, NotFound
from proctor.grading.exam import ExamGrader, Reads
from proctor.grading.extractors import EXTRACTORS, extractor
from proctor.grading.formats import AnswerFormat
from proctor.manifest import Manifest
from proctor.protocols import Grader
from proctor.providers import PROVIDERS
from proctor.service.judging.names import (
    JUDGE,
    PANEL,
    is_judge,
    is_plain,
    judges_of,
    judging_command,
    panel_of,
)
from proctor.service.results.answer_kinds import reads, row_labels, with_labels
from proctor.settings import Settings
from proctor.store import Store
from proctor.store.write import grades
from proctor.types import Grade, Item, Outcome, Reply, Run

if TYPE_CHECKING:
    from proctor.grading.spec import OpenGrader

LETTERED: frozenset[AnswerFormat] = frozenset({"choices", "letters"})


def first_grader(run: Run) -> str:
    """Who gave the grades that stand with the run's attempts; "" where nobody told, as for logs of other tools."""
    return first_grader_of(run.manifest)


def first_grader_of(manifest: Manifest) -> str:
    facts = manifest.facts
    named = dict.fromkeys(spec.grader or facts.extractor for spec in facts.tasks.values())
    return " and ".join(name for name in named if name)


def typed_here(words: str) -> str:
    """A grader's words from this machine's command line, with the files read that they name. Raises: ConfigError."""
    if words in EXTRACTORS:
        return words
    from proctor.grading.spec import words_typed_here  # see grader_named

    return words_typed_here(words)


def grader_named(words: str, run: Run, settings: Settings) -> Grader:
    """The grader that words name, ready for a run's tasks: an extractor with the exam's own comparison, or another.

    Raises: ConfigError for an unknown one, or one that cannot grade the run's answers.
    """
    if words in EXTRACTORS:
        how = how_read(run, settings)
        return ExamGrader(extractor(words, {each.kind for each in how.values()}), how)
    # What it imports takes its time, and most commands need none.
    from proctor.grading.spec import parse_grader

    grader = parse_grader(words)
    if grader.entry.kind == "text":
        check_texts(run, grader.name)
    return FittingGrader(grader)


@dataclass(frozen=True, slots=True)
class FittingGrader:
    """A grader of open answers that does without the rows whose right answers it cannot compare with."""

    inner: OpenGrader

    @property
    def name(self) -> str:
        return self.inner.name

    def grade(self, item: Item, reply: Reply) -> Grade:
        if item.accepted and (fault := self.inner.fault(item.accepted)):
            return Grade(Outcome.ANSWERED, None, grader=self.name, note=f"not graded: {fault}")
        return self.inner.grade(item, reply)


def check_texts(run: Run, name: str) -> None:
    """Raises ConfigError for a task whose right answers are letters: a comparison of texts would compare those."""
    for task, spec in run.manifest.facts.tasks.items():
        if spec.kind in LETTERED:
            raise ConfigError(
                f"Grader {name} compares texts, and the right answers of task {task} are letters of choices: "
                f"grade it with an extractor ({', '.join(EXTRACTORS)})"
            )


def how_read(run: Run, settings: Settings) -> Mapping[str, Reads]:
    """A file's labels have their synonyms in the file; where it is gone or changed, the manifest's names must do."""
    check_ours(run)
    return with_labels(reads(run), row_labels(run, settings))


def check_ours(run: Run) -> None:
    """Raises ConfigError for a run whose replies another tool read: its extractors are none of ours."""
    if run.cell.source.imported:
        raise ConfigError(
            f"Run {run.id[:8]} was imported from another tool, which read its replies itself: they cannot be read again"
        )


def kept_name(store: Store, run: Run, words: str) -> str | None:
    """The name under which the grades that words mean are kept; None where they are the run's first ones.

    `contains` means the only kept grader of that name, whatever its version and settings; `judge` the only judge of
    single replies, `panel` the only panel of judges, and the name of a judge's model that judge. Raises: NotFound
    where none is kept, ConfigError where several are.
    """
    kept = [each.grader for each in grades.graders(store, run.id)]
    if words in kept:
        return words
    first = first_grader(run)
    if words == first:
        return None
    judges = [name for name in kept if _judge_meant(words, name)]
    meant = judges or [name for name in (first, *kept) if words in _short_names(name)]
    if len(meant) > 1:
        raise ConfigError(
            f"--grader {words}: run {run.id[:8]} has grades by {', '.join(meant)}. Give one of these"
        )
    if not meant:
        others = f"it has those of {', '.join(filter(None, [first, *kept]))}; " if first or kept else ""
        raise NotFound(f"Run {run.id[:8]} has no grades by {words}: {others}{_made_by(run, words)}")
    return None if meant[0] == first else meant[0]


def _short_names(grader: str) -> tuple[str, ...]:
    return grader.partition(":")[0], grader.partition("/")[0]


def _judge_meant(words: str, grader: str) -> bool:
    if words in _short_names(grader):
        return is_plain(grader)
    if words == PANEL:
        return panel_of(grader) is not None
    return is_plain(grader) and words in judges_of(grader)


def _made_by(run: Run, words: str) -> str:
    """How the grades that words mean are made, as advice."""
    judge = f"judge/1:model={words},rubric=" if words.partition("/")[0] in PROVIDERS else words
    if is_judge(judge) or words in (JUDGE, PANEL):
        return f"{judging_command(run.id[:8], judge)} makes them, by asking a model"
    return f"`proctor grade {run.id[:8]} --grader {words}` makes them from the kept replies, without asking anything"
