"""What is found of a judge that people checked: scores and differences by the judge, by people, and corrected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from proctor.findings import Estimate, Verdict
from proctor.types import Run

if TYPE_CHECKING:
    from proctor.stats.judged.agreement import JudgeAgreement

Quote = Literal["judge", "people", "corrected"]
WHOLE = ""  # the name of what all criteria come to, by their weights


@dataclass(frozen=True, slots=True)
class CheckedAgreement:
    """How a judge and people agree on one criterion, label by label.

    `found` is of the `random` labels, or where there are none of the `chosen` ones. Items are often chosen because
    graders disagree: theirs stand apart in `of_chosen`, the share of them on which judge and people agree.
    """

    criterion: str
    found: JudgeAgreement
    random: int
    chosen: int
    of_chosen: Estimate | None = None

    @property
    def labels(self) -> int:
        """How many `found` is of."""
        return self.random or self.chosen


@dataclass(frozen=True, slots=True)
class ThreeWays:
    """One figure by one criterion, or by all of them (`criterion` is WHOLE), three times; `quote` says which counts."""

    criterion: str
    judge: Estimate
    people: Estimate | None
    corrected: Estimate | None
    quote: Quote
    why: str
    labels: int = 0
    correlation: float | None = None

    @property
    def quoted(self) -> Estimate:
        found = {"judge": self.judge, "people": self.people, "corrected": self.corrected}[self.quote]
        assert found is not None
        return found


@dataclass(frozen=True, slots=True)
class JudgedScore(ThreeWays):
    """A score by the judge, by people, and corrected.

    `judge` is over all replies that it graded, its interval blind to its errors; `people` is of the random labels
    alone, `corrected` of both. The last two are None where nobody has labelled replies that were drawn at random.
    `labels` counts the labelled replies, `weight` is how far the judge is followed, from 0 to 1.
    """

    weight: float | None = None
    agreement: CheckedAgreement | None = None


@dataclass(frozen=True, slots=True)
class LabelsUsed:
    """How many labels there are of the replies, and what became of them.

    `random` and `chosen` are labels of the judge's rubric about the replies that count; `stale` are about a reply that
    was asked again since, `other_rubric` by other criteria: both are left out. `ungraded` counts labelled replies to
    which the judge gave no grade.
    """

    random: int = 0
    chosen: int = 0
    stale: int = 0
    other_rubric: int = 0
    ungraded: int = 0
    labellers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JudgedResult:
    """What a judge's grades of a run are worth. `against` is the other run where it preferred one of two replies.

    Then the estimates are the part of the pairs in which this run's reply is better, a tie being half of one.
    `criteria` is empty where the rubric has only one. `remarks` are sentences about what this judge leans to.
    """

    run: Run
    grader: str
    judge: str
    rubric: str
    against: str | None
    whole: JudgedScore
    criteria: tuple[JudgedScore, ...]
    labels: LabelsUsed
    sentence: str
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JudgedDifference(ThreeWays):
    """First minus second, by the judge, by people, and corrected; of preferences the share that the first wins.

    `equal` is what two equal runs show: 0, or 0.5 of preferences. `verdict` is of what is quoted and needs both the
    adjusted p-value and the interval; without labels nothing is shown. `judge_verdict` is what the judge alone says.
    """

    equal: float = 0.0
    p_value: float | None = None
    judge_p_value: float | None = None
    adjusted_p: float | None = None
    verdict: Verdict = "no difference shown"
    judge_verdict: Verdict = "no difference shown"
    comparisons: int = 1


@dataclass(frozen=True, slots=True)
class JudgedComparison:
    """Two runs by one judge, corrected by the labels of items that people graded of both."""

    first: Run
    second: Run
    grader: str
    judge: str
    rubric: str
    pairwise: bool
    whole: JudgedDifference
    criteria: tuple[JudgedDifference, ...]
    labels: LabelsUsed
    sentence: str = ""
    remarks: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        return self.whole.verdict


@dataclass(frozen=True, slots=True)
class JudgedSideBySide:
    """Runs by one judge, and every pair of them. Of a judge that preferred one of two replies there are only pairs."""

    results: tuple[JudgedResult, ...]
    comparisons: tuple[JudgedComparison, ...]

    @property
    def verdict(self) -> str:
        """What to say of them all: the run that is quoted highest against the others, or of a single run its own."""
        if not self.comparisons:
            return " ".join(each.sentence for each in self.results)
        values = {each.run.id: each.whole.quoted.value for each in self.results}
        best = max(values, key=lambda run: (values[run] is not None, values[run] or 0.0), default=None)
        shown = [each for each in self.comparisons if best is None or best in (each.first.id, each.second.id)]
        return " ".join(each.sentence for each in shown)
