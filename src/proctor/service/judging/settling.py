"""The verdicts of a judge's run become grades of the run that it judged; done again, nothing changes."""

from __future__ import annotations

import time
from collections.abc import Iterator

from proctor.errors import NotFound
from proctor.references import JudgingRef
from proctor.service.judging.judged import considered
from proctor.service.judging.names import grader_of
from proctor.service.judging.pairs.preferring import preferences_given
from proctor.service.judging.panel import settle_panel
from proctor.service.judging.shown import shown_of
from proctor.service.judging.verdicts import EMPTY, Key, ReplyVerdicts, graded, verdicts
from proctor.store import AttemptRow, Store
from proctor.store.write import grades
from proctor.store.write.grades import KeptGrade
from proctor.types import Grade, Outcome, Run


def settle(store: Store, run: Run) -> None:
    """Give the judged run the grades of this judge's run, as far as it has verdicts. Raises: StoreError.

    Replies of which every criterion was asked as often as it was to be are graded, the others when it is resumed.
    """
    ref = run.cell.source
    assert isinstance(ref, JudgingRef)
    try:
        judged = store.run(ref.run)
        if ref.against is not None:
            preferences_given(store, run, ref)
            return
    except NotFound:
        return  # deleted meanwhile: nothing is left that could have grades
    name = grader_of(run)
    grades.add(store, judged.id, _given(store, run, judged, name))
    settle_panel(store, run)


def _given(store: Store, run: Run, judged: Run, name: str) -> Iterator[KeptGrade]:
    for row, given in beside(store, run, judged):
        if given is None:
            if (empty := _empty(store, judged, row, name)) is not None:
                yield empty
        elif given.complete(run.cell.repeats) and (grade := graded(given, row.attempt, name)) is not None:
            yield grade


def beside(store: Store, run: Run, judged: Run) -> Iterator[tuple[AttemptRow, ReplyVerdicts | None]]:
    """Each reply that was to be judged, with what was said of it; both are in the order of the judged run."""
    ref = run.cell.source
    assert isinstance(ref, JudgingRef)
    given = verdicts(store, run)
    ahead = next(given, None)
    for row in considered(store, judged, ref):
        if ahead is not None and ahead.key == _key(row):
            yield row, ahead
            ahead = next(given, None)
        else:
            yield row, None


def _empty(store: Store, judged: Run, row: AttemptRow, name: str) -> KeptGrade | None:
    """A reply without a word is wrong, and no judge was asked; None where the reply has words."""
    if shown_of(store, judged, row) is not None:
        return None
    outcome = row.outcome if row.outcome in (Outcome.TRUNCATED, Outcome.REFUSED) else Outcome.NO_ANSWER
    grade = Grade(outcome, 0.0, grader=name, note=EMPTY)
    return KeptGrade(row.item_id, row.repeat, row.attempt, time.time(), grade)


def _key(row: AttemptRow) -> Key:
    return row.item_id, row.repeat
