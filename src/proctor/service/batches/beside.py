"""What became of one request in an output beside the baseline's, told from both replies alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from proctor.grading.comparators.contract import Comparator, Likeness
from proctor.service.batches.outputs import GivenReply

# In the order in which people want to see them.
RowStatus = Literal[
    "newly failing",
    "different",
    "newly answered",
    "only A",
    "only B",
    "equivalent",
    "failed in both",
    "same",
]
STATUSES: tuple[RowStatus, ...] = get_args(RowStatus)
RANKS = {status: rank for rank, status in enumerate(STATUSES)}
RowTag = Literal["shorter", "longer", "newly cut", "newly refused", "other request"]
TAGS: tuple[RowTag, ...] = get_args(RowTag)
MUCH = 2.0  # so many times as long is longer, the other way round shorter


@dataclass(frozen=True, slots=True)
class BesideBaseline:
    """One request in one output beside the baseline: what became of it, and what the comparator found."""

    status: RowStatus
    tags: tuple[RowTag, ...] = ()
    likeness: Likeness | None = None  # where both answered


ALIKE: tuple[RowStatus, ...] = ("same", "equivalent")


def beside(one: GivenReply | None, two: GivenReply | None, compare: Comparator) -> BesideBaseline:
    """`one` is the baseline's; None where an output has nothing for the request."""
    if two is None:
        return BesideBaseline("only A")
    if one is None:
        return BesideBaseline("only B")
    other: tuple[RowTag, ...] = ("other request",) if unlike(one, two) else ()
    if one.text is None or two.text is None:
        if one.text is not None:
            return BesideBaseline("newly failing", other)
        return BesideBaseline("failed in both" if two.text is None else "newly answered", other)
    same = one.text == two.text
    likeness = compare(one.text, two.text) if not same or compare.tells != "nothing more" else Likeness(True)
    status: RowStatus = "same" if same else "equivalent" if likeness.alike else "different"
    return BesideBaseline(status, (*other, *_tags(one, two)), likeness)


def unlike(one: GivenReply, two: GivenReply) -> bool:
    """Whether the two are known to be replies to different requests."""
    return one.asked is not None and two.asked is not None and one.asked != two.asked


def _tags(one: GivenReply, two: GivenReply) -> Iterator[RowTag]:
    ours, theirs = len(one.text or ""), len(two.text or "")
    if theirs * MUCH <= ours and theirs < ours:
        yield "shorter"
    elif ours * MUCH <= theirs and ours < theirs:
        yield "longer"
    if two.finish == "length" and one.finish != "length":
        yield "newly cut"
    if two.finish == "refused" and one.finish != "refused":
        yield "newly refused"


def joined(
    walks: Sequence[Iterator[GivenReply]],
) -> Iterator[tuple[str, tuple[GivenReply | None, ...]]]:
    """Every request that any output has, in the order of the ids, with what each has for it.

    The walks come in the order of the ids' bytes, which is that of Python's texts; one reply of each is held.
    """
    heads = [next(walk, None) for walk in walks]
    while True:
        ids = [head.custom_id for head in heads if head is not None]
        if not ids:
            return
        first = min(ids)
        row = tuple(head if head is not None and head.custom_id == first else None for head in heads)
        yield first, row
        heads = [
            next(walk, None) if taken is not None else head
            for walk, head, taken in zip(walks, heads, row, strict=True)
        ]
