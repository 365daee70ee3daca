"""What of a trial a bundle can show to be wrong without running a test again: its record, its patch, what passes."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator

from proctor.engine.trials.runner import verdict
from proctor.engine.trials.scoring import chain_of
from proctor.errors import DataError
from proctor.references import RolloutsRef
from proctor.trial_record import TrialRecord, record_from
from proctor.types import Grade, Item, Reply, Run

RECORDED = (
    "{n} verdicts are those that were recorded: whether a patch passes its task's tests was not tried again, since "
    "tests run in sandboxes and belong to the tasks"
)


class RecordedVerdicts:
    """The grade that each trial's record tells. Raises: DataError for a reply without a record."""

    name = "verifier/1"

    def grade(self, item: Item, reply: Reply) -> Grade:
        return verdict(item, reply)


def faults(run: Run, reply: Reply, where: str) -> Iterator[str]:
    """What does not fit together in a trial: patch and hash, score and verdict, tests and rubrics."""
    try:
        record = record_from(reply.raw, where)
    except DataError as error:
        yield str(error)
        return
    told = record.hashes.get("patch")
    if told is not None and told != hashlib.sha256(reply.text.encode()).hexdigest():
        yield "its patch is not the one whose hash was recorded"
    if (chain := record.hashes.get("chain")) is not None and chain != chain_of(record.hashes):
        yield "its hashes are not those that its chain binds"
    if isinstance(run.cell.source, RolloutsRef) and record.passed != (
        record.score >= run.cell.source.pass_score
    ):
        yield f"it is said to have {'passed' if record.passed else 'failed'} with a score of {record.score:g}"
    yield from _rubrics(record)


def _rubrics(record: TrialRecord) -> Iterator[str]:
    for name, each in record.rubrics.items():
        given = [test.given for test in record.tests.values() if test.rubric == name]
        share = sum(given) / len(given) if given else each.passed / max(each.tests, 1)
        if each.score is not None and each.tests and not math.isclose(each.score, share, abs_tol=1e-9):
            yield f"rubric {name} has the score {each.score:g} with {each.passed} of {each.tests} tests passed"
