"""A judge's verdicts on pairs become grades of both runs: 1 for the better reply, 0 for the other, 0.5 for a tie."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from proctor.references import PREFERENCE, JudgingRef
from proctor.service.judging.judgings import kept_as
from proctor.service.judging.pairs.both_orders import PairVerdict, pair_verdicts
from proctor.service.judging.verdicts import outcome_of
from proctor.sources.judging.source import JudgedPlace, JudgedReply
from proctor.store import Store
from proctor.store.write import grades
from proctor.store.write.grades import KeptGrade
from proctor.types import Grade, Run

DIFFERS = "differs between the orders"
_WORDS = {worth: word for word, worth in PREFERENCE.items()}


@dataclass(frozen=True, slots=True)
class PairGrade:
    """What a pair comes to for the first run's reply: by each criterion's preference, or unasked, and `why`."""

    pair: JudgedReply
    score: float
    said: Sequence[PairVerdict] = ()
    why: str = ""

    def told(self, turned: bool) -> str:
        """The note of the grade; `turned` for the second run, whose reply is then the first of the two."""
        return self.why or "; ".join(
            f"{each.criterion.name}: {_word(each.preference, turned)}{f' ({DIFFERS})' if each.differs else ''}"
            for each in self.said
        )


def preferences_given(store: Store, run: Run, ref: JudgingRef) -> None:
    """Give both runs of a pairwise judging their grades, each under a name that says against which. Raises NotFound."""
    assert ref.against is not None
    pairs, verdicts = pair_verdicts(store, run, ref)
    made = [
        grade
        for pair, said in zip(pairs.asked, verdicts, strict=True)
        if all(each.complete(run.cell.repeats) for each in said) and (grade := pair_grade(pair, said))
    ]
    made += [PairGrade(each.pair, each.score, why=each.why) for each in pairs.known]
    for judged in (ref.run, ref.against):
        name = kept_as(run, judged)
        grades.add(store, judged, [_grade(each, name, turned=judged == ref.against) for each in made])


def pair_grade(pair: JudgedReply, said: Sequence[PairVerdict]) -> PairGrade | None:
    """The weighted mean of the criteria's preferences; None unless each has a verdict in both orders."""
    known = [(each.criterion.weight, each.preference) for each in said if each.preference is not None]
    if not known or len(known) < len(said):
        return None
    score = sum(weight * preference for weight, preference in known) / sum(weight for weight, _ in known)
    return PairGrade(pair, score, said)


def _grade(made: PairGrade, name: str, *, turned: bool) -> KeptGrade:
    place = made.pair.other if turned else made.pair.place
    assert isinstance(place, JudgedPlace)
    score = 1.0 - made.score if turned else made.score
    # What the asking cost is told once, with the first run's grade.
    costs = [row.cost_usd for each in made.said for row in each.rows if row.cost_usd is not None]
    grade = Grade(
        outcome_of(score),
        score,
        _WORDS.get(score, f"{score:.3g}"),
        grader=name,
        note=made.told(turned),
        cost_usd=sum(costs) if costs and not turned else None,
    )
    return KeptGrade(place.item_id, place.repeat, place.attempt, time.time(), grade)


def _word(preference: float | None, turned: bool) -> str:
    assert preference is not None
    return _WORDS[1.0 - preference if turned else preference]
