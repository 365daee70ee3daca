"""Two runs' replies as pairs: which of them a judge is asked about, which are the same text, which are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from proctor.references import PREFERENCE, JudgingRef
from proctor.service.judging.shown import in_time, place_of, text_in, with_question
from proctor.sources.judging.prompts import ShownReply
from proctor.sources.judging.source import JudgedReply
from proctor.store import AttemptRow, Store
from proctor.store.read import said
from proctor.store.write import grades
from proctor.types import Outcome, Run

TIE = PREFERENCE["tie"]

ONLY_FIRST = "the first run alone was asked them"
ONLY_SECOND = "the second run alone was asked them"
OTHERWISE = "the runs were asked them in different words"
NO_REPLY = "a run has no reply to them"
SAME = "both replies are the same text: not asked"
EMPTY = "one reply is empty: not asked"


@dataclass(frozen=True, slots=True)
class KnownPair:
    """A pair that needs no judge: a tie of the same text, or a reply without a word beside one that has words."""

    pair: JudgedReply
    score: float  # of the first run's reply
    why: str


@dataclass(frozen=True, slots=True)
class JudgedPairs:
    """The pairs of two runs, an item's repeats each a pair of their own, in the order of the first run.

    `asked` are judged. `left_out` counts the askings that make no pair, by the reason.
    """

    asked: tuple[JudgedReply, ...]
    known: tuple[KnownPair, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def told(self) -> tuple[str, ...]:
        """Sentences about what is not asked."""
        why = Counter(each.why for each in self.known)
        return tuple(f"{n:,} {'pair' if n == 1 else 'pairs'}: {reason}" for reason, n in why.items()) + tuple(
            f"{n:,} left out: {reason}" for reason, n in self.left_out.items()
        )


Seen = tuple[AttemptRow, str]  # a reply and its text


def pairs_of(store: Store, first: Run, second: Run, ref: JudgingRef, *, asked: bool = True) -> JudgedPairs:
    """The limit of `ref` bounds the pairs, asked or not. Without `asked` their questions are left out: reading them
    takes its time, and verdicts are told without. Raises: NotFound.
    """
    left_out: Counter[str] = Counter()
    question = partial(_question, store, first) if asked else _no_question
    both = islice(_both(store, first, second, ref, left_out), ref.limit)
    found = [_pair(first, second, mine, theirs, question) for mine, theirs in both]
    return JudgedPairs(
        tuple(each for each in found if isinstance(each, JudgedReply)),
        tuple(each for each in found if isinstance(each, KnownPair)),
        dict(left_out),
    )


def _both(
    store: Store, first: Run, second: Run, ref: JudgingRef, left_out: Counter[str]
) -> Iterator[tuple[Seen, Seen]]:
    given = grades.by(store, first.id, ref.without, until=ref.until) if ref.without else {}
    others = {(row.item_id, row.repeat): (row, text) for row, text in _seen(store, second, ref)}
    for row, text in _seen(store, first, ref):
        other = others.pop((row.item_id, row.repeat), None)
        if (row.item_id, row.repeat, row.attempt) in given:
            continue
        if other is None:
            left_out[ONLY_FIRST] += 1
        elif other[0].item_hash != row.item_hash:
            left_out[OTHERWISE] += 1
        elif Outcome.ERROR in (row.outcome, other[0].outcome):
            left_out[NO_REPLY] += 1
        else:
            yield (row, text), other
    if others:
        left_out[ONLY_SECOND] += len(others)


def _seen(store: Store, run: Run, ref: JudgingRef) -> Iterator[Seen]:
    for row, body in said.in_order(store, run.id):
        if in_time(row, ref):
            yield row, "" if row.outcome is Outcome.ERROR else text_in(run, body) or ""


Question = Callable[[AttemptRow, Sequence[str]], ShownReply]


def _question(store: Store, run: Run, row: AttemptRow, texts: Sequence[str]) -> ShownReply:
    return with_question(run, store.item(row.item_hash), texts)


def _no_question(_row: AttemptRow, texts: Sequence[str]) -> ShownReply:
    return ShownReply("", (), texts)


def _pair(first: Run, second: Run, mine: Seen, theirs: Seen, question: Question) -> JudgedReply | KnownPair:
    (row, text), (other, other_text) = mine, theirs
    pair = JudgedReply(
        place_of(row),
        question(row, (text, other_text)),
        row.cluster,
        None if row.score is None or other.score is None else (1 + row.score - other.score) / 2,
        (str(first.cell.model), str(second.cell.model)),
        place_of(other),
    )
    if text == other_text:
        return KnownPair(pair, TIE, SAME)
    return pair if text and other_text else KnownPair(pair, float(bool(text)), EMPTY)
