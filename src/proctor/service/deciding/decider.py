"""The state of a plan whose models are asked until it is decided, from attempts as they end or from kept rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from proctor.errors import ConfigError
from proctor.findings.looks import Decision, Path
from proctor.manifest import ExamFacts
from proctor.service.deciding.words import said, waits
from proctor.service.kinds import kind_of
from proctor.service.rows.marks import Kept, shape
from proctor.stats.metrics import Scored
from proctor.stats.paired import ALPHA
from proctor.stats.sequential.measure import Measure, measure_of
from proctor.stats.sequential.pair import PairWalk
from proctor.stats.sequential.reading import Balance, RunReading
from proctor.stats.sequential.stages import End, ends
from proctor.store import AttemptRow
from proctor.store.core.attempts import ANSWER_CHARACTERS
from proctor.types import Attempt, Outcome, Run

GIVEN_UP = 3  # attempts at an asking that ended in errors; then nobody waits for it any more


class Decider:
    """What is decided between the runs of one plan, by what has ended so far.

    Attempts come in whatever order they end, and twice does no harm. What it says depends on them alone, not on their
    order: `decision_of` says the same of kept rows. An error waits until it was asked again; after GIVEN_UP of
    them the item is left out.

    Raises ConfigError, when made, for runs whose score cannot be followed item by item.
    """

    def __init__(self, runs: Sequence[Run], alpha: float = ALPHA) -> None:
        self.runs, self.alpha = runs, alpha
        measure = _measure(runs[0])
        self._readings = {run.id: _reading(run, measure) for run in runs}
        self._by_content = kind_of(runs[0].cell.source).by_content
        self._pairs = {
            (one.id, other.id): PairWalk(measure, alpha, alone=len(runs) == 2)
            for one, other in combinations(runs, 2)
        }
        self.changed = False  # whether there is a look that was not looked at

    # Taking in ------------------------------------------------------------------------------------

    def settled(self, run_id: str, attempt: Attempt) -> None:
        """An attempt has ended."""
        grade, item = attempt.grade, attempt.item
        answer = None if grade.answer is None else grade.answer[:ANSWER_CHARACTERS]
        target = None if item.target is None else item.target[:ANSWER_CHARACTERS]
        name = item.hash if self._by_content else item.id
        row = Scored(
            name, item.group, target, answer, grade.outcome, grade.score, item.cluster, content=item.hash
        )
        self._add(run_id, (attempt.position, attempt.repeat, attempt.attempt), row)

    def row(self, run_id: str, row: AttemptRow) -> None:
        """The latest attempt at an asking, as it is kept."""
        name = row.item_hash if self._by_content else row.item_id
        scored = Scored(
            name, row.task, row.target, row.answer, row.outcome, row.score, row.cluster, content=row.item_hash
        )
        self._add(run_id, (row.position, row.repeat, row.attempt), scored)

    def _add(self, run_id: str, place: tuple[int, int, int], row: Scored) -> None:
        position, repeat, attempt = place
        waits = row.outcome is Outcome.ERROR and attempt + 1 < GIVEN_UP
        if not self._readings[run_id].add(position, repeat, None if waits else row):
            return
        for (one, other), pair in self._pairs.items():
            if run_id not in (one, other):
                continue
            first, second = self._readings[one].items, self._readings[other].items
            while pair.read < min(len(first), len(second)):
                self.changed |= pair.add(first[pair.read], second[pair.read])

    # Looking --------------------------------------------------------------------------------------

    def look(self, *, figures: bool = False) -> Decision:
        """What is decided by now. It costs what is new since the last look.

        Without `figures` the p-value of a pair that has not come near a decision is 1, which is quick.
        """
        self.changed = False
        found = ends(self._pairs, self.alpha)
        paths = {pair: self._path(pair, end, figures=figures) for pair, end in found.items()}
        still = {run for pair, end in found.items() if end.ended == "open" for run in pair}
        finished = frozenset(run.id for run in self.runs if run.id not in still)
        return Decision(paths, finished, said(self.runs, paths), waits(self.runs, paths, self._readings))

    def _path(self, pair: tuple[str, str], end: End, *, figures: bool) -> Path:
        walk = self._pairs[pair]
        near = end.ended == "decided" or figures
        p_value = walk.p_value(end.looks) if near else end.p_value
        return walk.path(end.looks, end.ended, end.alpha, p_value)


def decision_of(kept: Kept, runs: Sequence[Run], alpha: float = ALPHA) -> Decision:
    """What is decided between runs by their kept rows. Raises ConfigError as `Decider`, StoreError."""
    decider = Decider(runs, alpha)
    for run in runs:
        for row in kept.latest(run.id):
            decider.row(run.id, row)
    return decider.look(figures=True)


def _measure(run: Run) -> Measure:
    found = measure_of(shape(run), run.manifest.facts.asked)
    if isinstance(found, str):
        raise ConfigError(f"{run.source_title} cannot be asked until it is decided: {found}")
    return found


def _reading(run: Run, measure: Measure) -> RunReading:
    facts = run.manifest.facts
    # The first few items of each of several tasks are no even spread over them: large tasks lead the order.
    uneven = isinstance(facts, ExamFacts) and facts.limit is not None and len(measure.tasks) > 1
    asked = {task: facts.asked[task] for task in measure.tasks}
    return RunReading(
        measure,
        places=run.planned // run.cell.repeats,
        repeats=run.cell.repeats,
        balance=Balance(asked) if uneven else None,
    )
