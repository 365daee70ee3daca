"""What a judge prefers whatever the replies say: the one shown first, the longer one, those of its own family."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from proctor.errors import NotFound
from proctor.figures import estimate
from proctor.findings import Estimate
from proctor.references import JudgingRef
from proctor.service.checked.families import candidates_of, kin_words
from proctor.service.context import Context
from proctor.service.judging.judgings import about, judgings_of, kept_as
from proctor.service.judging.names import is_plain, judges_of, panel_of, rubric_words
from proctor.service.judging.pairs.both_orders import PairVerdict, pair_verdicts
from proctor.service.judging.pairs.pairing import TIE
from proctor.service.judging.pairs.preferring import PairGrade, pair_grade
from proctor.service.judging.shown import in_time, text_in
from proctor.service.labelling.scores import label_scores
from proctor.stats.judged import leanings as formulas
from proctor.stats.judged.leanings import BothOrders, Preferred
from proctor.stats.outputs.shares import ShareCount
from proctor.store import Store
from proctor.store.read import said
from proctor.store.write import grades
from proctor.types import Outcome, Run

Place = tuple[str, int]  # item id, repeat
EVEN = 0.5


@dataclass(frozen=True, slots=True)
class PairLeaning:
    """Of a judge that was shown pairs. Shares are from 0 to 1.

    `first_shown` is how often the reply shown first won, of verdicts that are no tie; `consistent` in how many pairs
    both orders say the same; `ties` how many pairs came to a tie; `known` counts the pairs of the same
    text and those with an empty reply, which were not asked, `left_out` the askings that make no pair, by the reason.
    """

    first_shown: Estimate
    consistent: Estimate
    ties: Estimate
    known: int
    left_out: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class LengthLeaning:
    """How a judge takes to longer replies, and how people do on what they labelled too; None without labels.

    Of pairs `judge` and `people` are shares of decided pairs that the longer reply won (0.5 is even). Of single replies
    `judge` is how much higher the longer half is graded, from -1 to 1, and `beyond` the same at equal grades by people.
    `beyond` is what the judge gives to length beyond what people do: only that is a fault of the judge's.
    """

    pairwise: bool
    judge: Estimate
    people: Estimate | None = None
    beyond: Estimate | None = None


@dataclass(frozen=True, slots=True)
class JudgeLeaning:
    """What one judge of a run prefers. `pairs` is None for a judge of single replies, `kin` holds sentences.

    `asked` counts what the judge was asked about, `ungraded` that of it which has no grade.
    """

    grader: str
    judge: str
    judging: str  # the id of the judge's run
    against: str | None
    asked: int
    ungraded: int
    pairs: PairLeaning | None
    length: LengthLeaning
    kin: tuple[str, ...]

    @property
    def told(self) -> tuple[str, ...]:
        """For people: warnings first; of a panel each with its judge."""
        return (*self._named(self.kin), *self.told_measured)

    @property
    def told_measured(self) -> tuple[str, ...]:
        """What was found, without the warnings; of a panel each with its judge."""
        return self._named(self.measured)

    def _named(self, words: Sequence[str]) -> tuple[str, ...]:
        who = f"{self.judge}: " if panel_of(self.grader) else ""
        return tuple(f"{who}{each}" for each in words)

    @property
    def measured(self) -> tuple[str, ...]:
        """What was found of place, ties and length, in words."""
        if self.pairs is None:
            return tuple(_told_length(self.length))
        lacking = f"without a grade: {self.ungraded:,} pairs, of which an order has no readable verdict"
        left = (lacking,) if self.ungraded else ()
        return (*_told_pairs(self.pairs), *left, *_told_length(self.length))


def leanings(context: Context, run_id: str, grader: str | None = None) -> tuple[JudgeLeaning, ...]:
    """Of every judge whose grades of a run are kept, or of one, by its newest judging; of a panel of all its judges.

    Of pairs nothing can be told where the other run was deleted, or lies beyond a wall. Raises: NotFound.
    """
    store = context.store
    kept = {each.grader for each in grades.graders(store, run_id)}
    newest = {kept_as(each, run_id): each for each in judgings_of(store, run_id)}
    meant = [name for name in newest if name in kept and (grader is None or _is_of(name, grader))]
    found = (_told_of(store, newest[name], run_id) for name in meant)
    return tuple(replace(each, grader=grader or each.grader) for each in found if each is not None)


def _told_of(store: Store, judging: Run, judged: str) -> JudgeLeaning | None:
    """None where the other run of pairs is gone, or behind a wall: its replies cannot be read then."""
    try:
        return leaning_of(store, judging, judged)
    except NotFound:
        return None


def _is_of(name: str, grader: str) -> bool:
    """Whether a judge's name is the grader's, or that of a judge of the panel that it names."""
    panel = panel_of(grader) or ()
    alike = rubric_words(name) == rubric_words(grader) and is_plain(name)
    return name == grader or (alike and judges_of(name)[0] in panel)


def leaning_of(store: Store, judging: Run, judged: str) -> JudgeLeaning:
    """Raises: NotFound where a judged run is gone."""
    ref = judging.cell.source
    assert isinstance(ref, JudgingRef)
    runs = [store.run(each) for each in about(judging)]
    look = _of_pairs if ref.against else _of_replies
    asked, ungraded, pairs, length = look(store, judging, ref)
    return JudgeLeaning(
        kept_as(judging, judged),
        str(judging.cell.model),
        judging.id,
        ref.seen_from(judged).against,
        asked,
        ungraded,
        pairs,
        length,
        kin_words(str(judging.cell.model), candidates_of(*runs)),
    )


Found = tuple[int, int, PairLeaning | None, LengthLeaning]


# Pairs -------------------------------------------------------------------------------------------


def _of_pairs(store: Store, judging: Run, ref: JudgingRef) -> Found:
    pairs, verdicts = pair_verdicts(store, judging, ref)
    made = [
        found for pair, said in zip(pairs.asked, verdicts, strict=True) if (found := pair_grade(pair, said))
    ]
    orders = [BothOrders(_key(each), each.straight, each.swapped) for said in verdicts for each in said]
    leaning = PairLeaning(
        formulas.position_preference(orders),
        formulas.consistency(orders),
        _ties(made),
        len(pairs.known),
        pairs.left_out,
    )
    told = people_of(store, ref)
    return len(pairs.asked), len(pairs.asked) - len(made), leaning, _length_of_pairs(made, told)


def _key(each: PairVerdict) -> str:
    """Repeats and criteria of an item are not independent."""
    return each.pair.cluster or each.pair.place.item_id


def _ties(made: Iterable[PairGrade]) -> Estimate:
    count = ShareCount()
    for each in made:
        count.add(each.score == TIE, each.pair.cluster or each.pair.place.item_id)
    return count.estimate("no pair has a verdict in both orders")


def _length_of_pairs(made: Sequence[PairGrade], told: Mapping[Place, float]) -> LengthLeaning:
    judge = [_preferred(each, each.score) for each in made]
    both = [
        (each, told[place])
        for each in made
        if (place := (each.pair.place.item_id, each.pair.place.repeat)) in told
    ]
    if not both:
        return LengthLeaning(True, formulas.longer_wins(judge))
    people = [_preferred(each, score) for each, score in both]
    same = [_preferred(each, each.score) for each, _ in both]
    return LengthLeaning(
        True,
        formulas.longer_wins(judge),
        formulas.longer_wins(people),
        formulas.longer_excess(same, people),
    )


def _preferred(each: PairGrade, score: float) -> Preferred:
    """With several criteria the one that has more of the score is preferred."""
    first, second = each.pair.shown.replies
    decided = TIE if score == TIE else float(score > TIE)
    place = each.pair.place
    return Preferred(f"{place.item_id}/{place.repeat}", decided, len(first), len(second))


# Single replies ----------------------------------------------------------------------------------


def _of_replies(store: Store, judging: Run, ref: JudgingRef) -> Found:
    run = store.run(ref.run)
    given = grades.by(store, run.id, kept_as(judging, run.id))
    told = people_of(store, ref)
    rows: list[tuple[int, float, float | None]] = []
    asked = 0
    for row, body in said.in_order(store, run.id):
        text = None if row.outcome is Outcome.ERROR or not in_time(row, ref) else text_in(run, body)
        if text is None or (ref.limit is not None and asked >= ref.limit):
            continue
        asked += 1
        grade = given.get((row.item_id, row.repeat, row.attempt))
        if grade is not None and grade.score is not None:
            rows.append((len(text), grade.score, told.get((row.item_id, row.repeat))))
    return asked, asked - len(rows), None, _length_of_replies(rows)


def _length_of_replies(rows: Sequence[tuple[int, float, float | None]]) -> LengthLeaning:
    judge = formulas.longer_graded([length for length, _, _ in rows], [score for _, score, _ in rows])
    labelled = [(length, score, people) for length, score, people in rows if people is not None]
    if not labelled:
        return LengthLeaning(False, judge)
    lengths, scores, people = zip(*labelled, strict=True)
    return LengthLeaning(
        False,
        judge,
        formulas.longer_graded(lengths, people),
        formulas.longer_graded(lengths, scores, people),
    )


def people_of(store: Store, ref: JudgingRef) -> Mapping[Place, float]:
    """People's grades by the same rubric, of the random part alone: chosen items are those where graders disagree."""
    scores = label_scores(store, ref.run, ref.rubric, against=ref.against)
    return {place: each.score for place, each in scores.items()}


# Words -------------------------------------------------------------------------------------------


def _told_pairs(pairs: PairLeaning) -> Iterator[str]:
    first = pairs.first_shown
    yield f"the reply shown first wins {estimate(first)} of the decided verdicts: {_leans(first)}"
    yield (
        f"both orders say the same of {estimate(pairs.consistent)} of the pairs; what differs is a tie, "
        f"ties are {estimate(pairs.ties)}"
    )
    if pairs.known:
        yield f"not asked: {pairs.known:,} of the same text twice, or with an empty reply"
    for reason, n in pairs.left_out.items():
        yield f"{n:,} left out: {reason}"


def _leans(first: Estimate) -> str:
    if first.value is None or first.low is None or first.high is None:
        return "nothing is known of its leaning to a place"
    if first.low > EVEN:
        return "it leans to the reply shown first"
    if first.high < EVEN:
        return "it leans to the reply shown second"
    return "no leaning to a place is shown"


def _told_length(length: LengthLeaning) -> Iterator[str]:
    if length.pairwise:
        yield f"the longer reply wins {estimate(length.judge)} of the decided pairs"
    else:
        yield f"the longer half of the replies is graded higher by {estimate(length.judge)}"
    if length.people is None or length.beyond is None:
        yield "whether longer replies are better, people's labels would tell (`proctor label`)"
        return
    yield f"with people that is {estimate(length.people)}; beyond what people give to length: {estimate(length.beyond)}"


def leaning_lines(store: Store, judging: Run) -> Iterator[str]:
    """What is said of a judge's run when it has ended; nothing where a run that it judged is gone."""
    ref = judging.cell.source
    assert isinstance(ref, JudgingRef)
    found = _told_of(store, judging, ref.run)
    if found is None:
        return
    yield from (f"Warning: {each}." for each in found.kin)
    yield "What leans this judge:"
    yield from (f"  {each}" for each in found.measured)


def leaning_document(leaning: JudgeLeaning) -> dict[str, Any]:
    """As JSON: estimates with their intervals, and the sentences as `told`."""
    return {**asdict(leaning), "told": list(leaning.told)}


def leaning_of_judging(context: Context, judging: Run) -> dict[str, Any] | None:
    """The same of a judge's run, seen from the run that it judged; None where that is gone."""
    ref = judging.cell.source
    assert isinstance(ref, JudgingRef)
    found = _told_of(context.store, judging, ref.run)
    return None if found is None else leaning_document(found)
