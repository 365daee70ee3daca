"""Where graders disagree, which is where a person's look is worth most."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from proctor.references import GradingRubric
from proctor.service.judging.judgings import judgings_of
from proctor.service.labelling.wish import ref_of
from proctor.store import Store
from proctor.store.write import grades
from proctor.types import Run

ItemRepeat = tuple[str, int]
Given = dict[ItemRepeat, dict[str, list[float]]]  # by what was asked: all grades given to it


def disagreements(
    store: Store, runs: Sequence[Run], rubric: GradingRubric, *, pairwise: bool
) -> Mapping[ItemRepeat, float]:
    """How far grades of a reply lie apart, from 0 to 1: votes, judges, other graders, the first grade.

    Of several runs the widest counts, of pairs that of the preferences.
    """
    if pairwise:
        return _widest(_preferences(store, *runs))
    found: dict[ItemRepeat, float] = defaultdict(float)
    for run in runs:
        for item, spread in _widest(_verdicts(store, run, rubric)).items():
            found[item] = max(found[item], spread)
    return found


def _widest(given: Given) -> dict[ItemRepeat, float]:
    return {
        item: max((max(each) - min(each) for each in asked.values() if each), default=0.0)
        for item, asked in given.items()
    }


def _empty() -> Given:
    return defaultdict(lambda: defaultdict(list))


def _verdicts(store: Store, run: Run, rubric: GradingRubric) -> Given:
    given = _whole(store, run)
    places = {f"/{item_id}/{repeat}": (item_id, repeat) for item_id, repeat in given}
    for judging in judgings_of(store, run.id):
        ref = ref_of(judging)
        if ref.against is not None or ref.rubric.sha256 != rubric.sha256:
            continue
        for row in store.latest(judging.id):
            place = places.get(row.item_id.removeprefix(row.task))
            if place is not None and row.score is not None:
                given[place][f"criterion {row.task}"].append(row.score)
    return given


def _whole(store: Store, run: Run) -> Given:
    """What each grader gives to the whole reply, the first grade among them."""
    given = _empty()
    attempts = {}
    for row in store.latest(run.id):
        attempts[row.item_id, row.repeat] = row.attempt
        given[row.item_id, row.repeat]["whole"] += [row.score] if row.score is not None else []
    for kept in _plain_graders(store, run):
        for (item_id, repeat, attempt), grade in grades.by(store, run.id, kept).items():
            if grade.score is not None and attempts.get((item_id, repeat)) == attempt:
                given[item_id, repeat]["whole"].append(grade.score)
    return given


def _plain_graders(store: Store, run: Run) -> Iterable[str]:
    return (each.grader for each in grades.graders(store, run.id) if ",against=" not in each.grader)


def _preferences(store: Store, first: Run, second: Run) -> Given:
    given = _empty()
    for item, preferred in _preferred_by_grades(store, first, second):
        given[item]["whole"] += preferred
    places = {f"/{item_id}/{repeat}": (item_id, repeat) for item_id, repeat in given}
    for judging in judgings_of(store, first.id):
        ref = ref_of(judging)
        if {ref.run, ref.against} != {first.id, second.id}:
            continue
        for row in store.latest(judging.id):
            asked, _, _ = row.item_id.removeprefix(row.task).rpartition("/")  # without the order
            place = places.get(asked)
            if place is not None and row.score is not None:
                worth = row.score if ref.run == first.id else 1.0 - row.score
                given[place][f"criterion {row.task}"].append(worth)
    return given


def _preferred_by_grades(store: Store, first: Run, second: Run) -> Iterable[tuple[ItemRepeat, list[float]]]:
    """Of each item of both runs which reply the first grades prefer; nothing where one has no grade."""
    others = {(row.item_id, row.repeat): row.score for row in store.latest(second.id)}
    for row in store.latest(first.id):
        item = row.item_id, row.repeat
        if item in others:
            score = others[item]
            known = row.score is not None and score is not None
            yield item, [(1.0 + (row.score or 0.0) - (score or 0.0)) / 2] if known else []
