"""What a judge said of pairs: by criterion, the verdict of each order, and what both come to."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from proctor.references import Criterion, JudgingRef
from proctor.service.judging.pairs.pairing import TIE, JudgedPairs, pairs_of
from proctor.sources.judging.source import BOTH_ORDERS, JudgedReply, asking_id
from proctor.store import AttemptRow, Store
from proctor.types import Outcome, Run


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """What a judge said of one pair by one criterion, as worth of the first run's reply: 1, 0.5 or 0.

    `straight` is its verdict where that reply was shown first, `swapped` where it was shown second; None where none
    could be read. `rows` are the askings of both orders.
    """

    pair: JudgedReply
    criterion: Criterion
    straight: float | None
    swapped: float | None
    rows: Sequence[AttemptRow] = ()

    def complete(self, votes: int) -> bool:
        """Whether both orders were asked as often as they were to be: an error is no asking."""
        return sum(row.outcome is not Outcome.ERROR for row in self.rows) >= 2 * votes

    @property
    def differs(self) -> bool:
        """Whether the two orders say otherwise: then neither is to be believed, and the pair is a tie."""
        return self.preference is not None and self.straight != self.swapped

    @property
    def preference(self) -> float | None:
        """What the pair comes to; None unless both orders have a verdict."""
        if self.straight is None or self.swapped is None:
            return None
        return self.straight if self.straight == self.swapped else TIE


def pair_verdicts(store: Store, run: Run, ref: JudgingRef) -> tuple[JudgedPairs, list[list[PairVerdict]]]:
    """The pairs of a judge's run, and for each that was asked its verdicts by criterion. Raises: NotFound."""
    assert ref.against is not None
    pairs = pairs_of(store, store.run(ref.run), store.run(ref.against), ref, asked=False)
    return pairs, list(_verdicts(store, run, ref, pairs))


def _verdicts(store: Store, run: Run, ref: JudgingRef, pairs: JudgedPairs) -> Iterator[list[PairVerdict]]:
    rows: dict[str, list[AttemptRow]] = defaultdict(list)
    for row in store.latest(run.id):
        rows[row.item_id].append(row)
    for pair in pairs.asked:
        criteria = ref.rubric.of(pair.place.item_id)
        asked = [[asking_id(each, pair.place, order) for order in BOTH_ORDERS] for each in criteria]
        yield [
            _verdict(pair, each, *(rows.get(ident, []) for ident in ids))
            for each, ids in zip(criteria, asked, strict=True)
        ]


def _verdict(
    pair: JudgedReply, criterion: Criterion, straight: Sequence[AttemptRow], swapped: Sequence[AttemptRow]
) -> PairVerdict:
    return PairVerdict(pair, criterion, most_said(straight), most_said(swapped), (*straight, *swapped))


def most_said(votes: Sequence[AttemptRow]) -> float | None:
    """What most of the votes that could be read say; a tie where none has most."""
    read = Counter(row.score for row in votes if row.score is not None)
    if not read:
        return None
    (worth, often), *others = read.most_common()
    return TIE if others and others[0][1] == often else worth
