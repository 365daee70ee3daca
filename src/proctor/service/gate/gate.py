"""Whether a run may take the place of the accepted one: the paired test on the items that both were asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from proctor.errors import ConfigError
from proctor.figures import fraction
from proctor.findings import Comparison, Evaluation
from proctor.printable import in_one_line
from proctor.service.context import Context
from proctor.service.evidence.compare import Differing, counted, differing
from proctor.service.evidence.evaluation import evaluation
from proctor.service.gate.accepted import AcceptedRun
from proctor.service.looks.ledger import LookLedger
from proctor.service.results.results import shown
from proctor.types import Run

SHOWN_ITEMS = 10


@dataclass(frozen=True, slots=True)
class GateRule:
    """What passes: a run that is not shown to score more than `worse_by` lower than the accepted one.

    With `exclude` it is the other way round: what passes has shown that it does not (non-inferiority), the whole 95 %
    interval of the loss lying at or below `worse_by`.
    """

    worse_by: float = 0.0  # in the units of the score
    exclude: bool = False

    def __post_init__(self) -> None:
        if self.worse_by < 0:
            raise ConfigError(f"--worse-by {self.worse_by:g}: give 0 or more, in the units of the score")
        if self.exclude and not self.worse_by:
            raise ConfigError(
                "--exclude-worse needs --worse-by D: that nothing at all was lost is shown by no number of items"
            )


@dataclass(frozen=True, slots=True)
class GateFound:
    """A run at the gate. `pair` has the accepted run first; without an accepted one it is None, and the gate passed.

    `lost` are the first items on which the new run scored lower, `losses` counts all of them.
    """

    rule: GateRule
    run: Run
    evaluation: Evaluation | None
    pair: Comparison | None
    lost: tuple[Differing, ...] = ()
    needed: bool = False  # an accepted run had to be there

    @property
    def passed(self) -> bool:
        if self.pair is None:
            return not self.needed
        high, low = self.pair.whole.estimate.high, self.pair.whole.estimate.low
        assert high is not None and low is not None
        if self.rule.exclude:
            return high <= self.rule.worse_by
        return not (self.pair.verdict == "first better" and low > self.rule.worse_by)

    @property
    def losses(self) -> int:
        return 0 if self.pair is None else self.pair.whole.only_first

    @property
    def sentence(self) -> str:
        """Passed or not, and by which rule, in one sentence."""
        word = "passed" if self.passed else "FAILED"
        if self.pair is None:
            return f"Gate {word}: there is no accepted run yet to hold this one against."
        of, most = self.pair.whole.estimate, fraction(self.rule.worse_by)
        assert of.value is not None
        loss = f"{fraction(of.value)} [{fraction(of.low)}, {fraction(of.high)}]"
        if self.rule.exclude:
            can = "is excluded" if self.passed else "cannot be excluded"
            return f"Gate {word}: a loss of more than {most} {can}; the loss is {loss}."
        found = "is not" if self.passed else "is"
        by = f" by more than {most}" if self.rule.worse_by else ""
        return f"Gate {word}: the new run {found} shown to be worse than the accepted one{by}; the loss is {loss}."


def gate(
    context: Context,
    run: Run,
    accepted: AcceptedRun | None,
    rule: GateRule = GateRule(),
    *,
    items: int = SHOWN_ITEMS,
    needed: bool = False,
) -> GateFound:
    """Hold an ended run against the accepted one, on the items that both were asked.

    `needed`: without an accepted run it does not pass. Raises: ConfigError for runs that were not asked in the same way
    or share no scored item.
    """
    if accepted is None:
        return GateFound(rule, run, None, None, needed=needed)
    if accepted.result.run.id == run.id:
        raise ConfigError(f"Run {run.id[:8]} is the accepted one: a gate takes another run")
    found = evaluation(
        accepted.kept,
        [accepted.result, shown(context.store, run)],
        ledger=LookLedger(context.store, only=True),
    )
    (pair,) = found.comparisons
    of = pair.whole.estimate
    if of.value is None or of.low is None or of.high is None:
        raise ConfigError(f"Nothing can be said of a loss: {of.reason or 'it has no interval'}")
    tasks = counted([result.run for result in found.results], "score")
    lost = differing(accepted.kept, pair, tasks, items, lost=True)
    return GateFound(rule, run, found, pair, lost, needed)


def said(item: Differing, run: Run) -> str:
    """What a run answered, or why there is no answer, in one line."""
    answer = item.answers[run.id]
    words = answer if answer is not None else item.outcomes[run.id].replace("_", " ")
    return " ".join(in_one_line(words).split())


def gate_document(found: GateFound) -> dict[str, Any]:
    """The gate as JSON, beside the evaluation."""
    of = found.pair.whole.estimate if found.pair else None
    return {
        "passed": found.passed,
        "sentence": found.sentence,
        "accepted_run_id": found.pair.first.id if found.pair else None,
        "run_id": found.run.id,
        "worse_by": found.rule.worse_by,
        "exclude_worse": found.rule.exclude,
        "loss": of.value if of else None,
        "low": of.low if of else None,
        "high": of.high if of else None,
        "lost_items": found.losses,
    }
