"""What the name of a kept grader tells of a judge, and which of a run's graders a word means."""

from __future__ import annotations

import re
from dataclasses import dataclass

from proctor.errors import ConfigError, NotFound
from proctor.service.judging.names import JUDGE, PANEL, judges_of, panel_of, rubric_words
from proctor.store import Store
from proctor.store.write import grades
from proctor.types import Run

_AGAINST = re.compile(r",against=([^,]+)")


@dataclass(frozen=True, slots=True)
class JudgeName:
    """A judge's name, read back: whom was asked, by which rubric, and which other run's replies it compared with."""

    grader: str
    judge: str
    rubric: str
    against: str | None = None

    @property
    def digits(self) -> str:
        """The first digits of the rubric's hash: rubrics of which these are equal say the same."""
        return self.rubric.rpartition("#")[2]

    @property
    def mark(self) -> str:
        """What titles of scores by this judge add, so that none passes for a score that somebody checked."""
        return f" (graded by {self.judge} alone)"


def judge_told(grader: str) -> JudgeName | None:
    """None for graders that are no judges.

    >>> judge_told("judge/1:model=ollama/qwen3:8b,rubric=correct#a0e5c34c,against=0a1b,votes=3").against
    '0a1b'
    >>> judge_told("contains/1") is None
    True
    """
    rubric = rubric_words(grader)
    if rubric is None:
        return None
    against = _AGAINST.search(grader)
    return JudgeName(grader, " + ".join(judges_of(grader)), rubric, against[1] if against else None)


def by_judge(run: Run) -> bool:
    """Whether a run is shown by a judge's grades."""
    return any(judge_told(grader) is not None for grader in run.manifest.facts.graders.values())


def kept_judges(store: Store, run_id: str) -> list[JudgeName]:
    """Every judge whose grades of the run are kept, the one that graded it last at the end. Raises NotFound."""
    told = (judge_told(each.grader) for each in grades.graders(store, run_id))
    return [name for name in told if name is not None]


def judge_meant(store: Store, run: Run, words: str | None, *, against: str | None = None) -> JudgeName:
    """The judge that words mean of a run; None or `judge` is the only one, `panel` the only panel.

    `against` is the other run of a pairwise judge, None for judges of single replies. Raises: NotFound where there is
    none, ConfigError where there are several.
    """
    kept = kept_judges(store, run.id)
    exact = [name for name in kept if words == name.grader]
    meant = exact or [name for name in kept if name.against == against and fits(words or JUDGE, name)]
    if len(meant) == 1:
        return meant[0]
    if meant:
        names = ", ".join(name.grader for name in meant)
        raise ConfigError(
            f"Run {run.id[:8]} has grades by several judges: {names}. Give one of these as --grader"
        )
    how = f" --pairwise {against[:8]}" if against else ""
    raise NotFound(
        f"Run {run.id[:8]} has no grades by {words or 'a judge'}: "
        f"`proctor grade {run.id[:8]} --grader judge --judge MODEL{how}` has its kept replies judged"
    )


def fits(words: str, name: JudgeName) -> bool:
    """Whether these words mean this judge: its whole name, its model, or what judges and panels are called."""
    if words == name.grader:
        return True
    if panel_of(name.grader) is not None:
        return words == PANEL
    return words in (JUDGE, name.grader.partition(":")[0], name.judge)
