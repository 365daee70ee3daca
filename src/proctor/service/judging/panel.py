"""Several judges of one run: when all have ended, what they say together becomes grades of its own."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace

from proctor.errors import NotFound
from proctor.references import JudgingRef
from proctor.service.judging.names import grader_of, panel_name
from proctor.service.judging.verdicts import EMPTY, Key, ReplyVerdicts, graded, verdicts
from proctor.store import Store
from proctor.store.write import grades
from proctor.store.write.grades import KeptGrade
from proctor.types import Run

Judges = Mapping[str, Sequence[Run]]  # by grader's name: a judge may have judged a run in several goes


def settle_panel(store: Store, run: Run) -> None:
    """Give the judged run the grades of the judges of one plan. Raises: StoreError."""
    settle_together(store, store.plan_runs(run.plan_id))


def settle_together(store: Store, runs: Sequence[Run]) -> None:
    """Give judged runs the grades of the panels that these judges' runs make, once all of a panel's have ended.

    Raises: StoreError.
    """
    for judges in panels(runs):
        every = [run for of in judges.values() for run in of]
        if all(run.finished_at is not None for run in every):
            try:
                grades.add(store, _ref(every[0]).run, _together(store, judges))
            except NotFound:
                continue  # the judged run was deleted meanwhile


def panels(runs: Sequence[Run]) -> list[Judges]:
    """The judges that were asked the same about the same run, where they are two or more."""
    found: dict[Hashable, dict[str, list[Run]]] = {}
    for run in runs:
        ref = run.cell.source
        if isinstance(ref, JudgingRef) and not ref.against:
            about = ref.run, ref.rubric, run.cell.repeats
            found.setdefault(about, {}).setdefault(grader_of(run), []).append(run)
    return [judges for judges in found.values() if len(judges) > 1]


def name_of(judges: Judges) -> str:
    """The name of the grades that they give together."""
    firsts = [of[0] for of in judges.values()]
    return panel_name([run.cell.model for run in firsts], _ref(firsts[0]), firsts[0].cell.repeats)


def _ref(run: Run) -> JudgingRef:
    assert isinstance(run.cell.source, JudgingRef)
    return run.cell.source


def _together(store: Store, judges: Judges) -> Iterator[KeptGrade]:
    first = next(iter(judges.values()))[0]
    name, judged = name_of(judges), _ref(first).run
    attempts = {(row.item_id, row.repeat): row.attempt for row in store.latest(judged)}
    for given in joint(store, judges):
        if given.key in attempts and (grade := graded(given, attempts[given.key], name)) is not None:
            yield grade
    # What was asked of none of them is worth nothing by all.
    for place, own in grades.by(store, judged, grader_of(first)).items():
        if own.note == EMPTY:
            yield KeptGrade(*place, time.time(), replace(own, grader=name))


def joint(store: Store, judges: Judges) -> Iterator[ReplyVerdicts]:
    """The votes of all judges on each reply that all of them were asked about, the judges in their order."""
    said = [by_reply(store, of) for of in judges.values()]
    for key, own in said[0].items():
        every = [own, *(of[key] for of in said[1:] if key in of)]
        if len(every) == len(said):
            yield _joined(key, every)


def by_reply(store: Store, runs: Sequence[Run]) -> dict[Key, ReplyVerdicts]:
    """What one judge said of each reply, as far as it was asked all that it was to be."""
    votes = runs[0].cell.repeats
    return {each.key: each for run in runs for each in verdicts(store, run) if each.complete(votes)}


def _joined(key: Key, every: Sequence[ReplyVerdicts]) -> ReplyVerdicts:
    """A criterion of which no more than half of the votes can be read has no verdict of the panel."""
    votes: dict[str, list[str | None]] = {}
    for criterion in every[0].criteria:
        heard = [vote for each in every for vote in each.votes[criterion.name]]
        known = sum(vote is not None for vote in heard)
        votes[criterion.name] = heard if 2 * known > len(heard) else [None] * len(heard)
    rows = {name: [row for each in every for row in each.rows[name]] for name in votes}
    return ReplyVerdicts(key, every[0].criteria, rows, votes)
