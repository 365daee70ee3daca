"""The replies that a judge is asked about, read off the attempts of the runs that are judged."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice

from proctor.errors import DataError, NotFound
from proctor.references import JudgingRef
from proctor.service.judging.pairs.pairing import pairs_of
from proctor.service.judging.shown import in_time, place_of, text_in, with_question
from proctor.sources.judging.source import JudgedReply
from proctor.store import AttemptRow, Store
from proctor.store.read.batches.rows import walk
from proctor.store.write import grades
from proctor.types import Outcome, Run


def judged_replies(store: Store, ref: JudgingRef) -> tuple[Sequence[JudgedReply], Mapping[str, str]]:
    """The replies, in the order of the judged run, and the models that gave them by their runs' ids.

    Errors have no reply, and empty replies need no judge: neither is asked about. Raises: NotFound, DataError where
    nothing is left to be judged.
    """
    runs = [judged_run(store, each) for each in (ref.run, ref.against) if each]
    replies = _pairs(store, ref, *runs) if len(runs) == 2 else list(_single(store, runs[0], ref))
    if not replies:
        raise DataError(f"Run {ref.run[:8]} has no replies to judge")
    return replies, {run.id: str(run.cell.model) for run in runs}


def is_deleted(store: Store, run_id: str) -> bool:
    try:
        store.run(run_id)
    except NotFound:
        return True
    return False


def judged_run(store: Store, run_id: str) -> Run:
    """Raises NotFound in words that fit a judging whose run was deleted since."""
    try:
        return store.run(run_id)
    except NotFound:
        raise NotFound(
            f"Run {run_id[:8]}, whose replies this judging is about, is not here: it was deleted. What was judged of "
            "it is kept in the judging; there is nothing left to judge"
        ) from None


def _pairs(store: Store, ref: JudgingRef, first: Run, second: Run) -> Sequence[JudgedReply]:
    pairs = pairs_of(store, first, second, ref)
    if not pairs.asked:
        why = f": {'; '.join(pairs.told)}" if pairs.told else ""
        raise DataError(f"Runs {first.id[:8]} and {second.id[:8]} have no pairs of replies to judge{why}")
    return pairs.asked


def considered(store: Store, run: Run, ref: JudgingRef) -> Iterator[AttemptRow]:
    """The attempts of a judged run that have a reply, as far as a judging is about them."""
    known = _known(store, run, ref)
    rows = (row for row in store.latest(run.id) if _has_reply(row, ref))
    return (row for row in islice(rows, ref.limit) if (row.item_id, row.repeat, row.attempt) not in known)


def _known(store: Store, run: Run, ref: JudgingRef) -> Collection[grades.Place]:
    """What had its grade before the judging was planned."""
    return grades.by(store, run.id, ref.without, until=ref.until) if ref.without else ()


def _has_reply(row: AttemptRow, ref: JudgingRef) -> bool:
    return row.outcome is not Outcome.ERROR and in_time(row, ref)


def _single(store: Store, run: Run, ref: JudgingRef) -> Iterator[JudgedReply]:
    """The same with what was said, some hundred read at a time."""
    known, models = _known(store, run, ref), (str(run.cell.model),)
    rows = (each for each in walk(store, run.id) if _has_reply(each.attempt, ref))
    for each in islice(rows, ref.limit):
        row, text = each.attempt, text_in(run, each.said)
        if text is None or each.item is None or (row.item_id, row.repeat, row.attempt) in known:
            continue
        shown = with_question(run, each.item, (text,))
        yield JudgedReply(place_of(row), shown, row.cluster, row.score, models)
