"""With which code a command ends whose runs have ended: everything was measured, part of it, or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

from proctor.errors import Exit
from proctor.findings import RunResult

# For `--help`; `errors.EXITS` has all of them.
OF_RUNS = "Exit codes: " + "; ".join(
    f"{code:d} {words}"
    for code, words in (
        (
            Exit.DONE,
            "every item has an outcome, or --for, --max-cost, --max-total-tokens or --until-decided ended it",
        ),
        (Exit.REQUEST, "wrong request"),
        (Exit.PART, "some items have none (partial)"),
        (Exit.NOTHING, "none has one (failed)"),
        (Exit.INTERRUPTED, "Ctrl-C"),
    )
)


class Ended(NamedTuple):
    """What decides about an ended run: `failed` counts the items that ended in an error."""

    status: str
    settled: int
    planned: int
    failed: int
    stopped: bool  # before all was asked, and in words why

    @classmethod
    def of(cls, result: RunResult) -> Self:
        run = result.run
        failed = sum(result.tally.errors.values())
        return cls(run.status.value, run.settled, run.planned, failed, bool(run.stopped))

    @classmethod
    def told(cls, result: Mapping[str, Any]) -> Self:
        """Of a server's answer."""
        settled, planned = result["progress"]["settled"], result["progress"]["planned"] or 0
        failed = sum(result["errors"].values())
        return cls(result["status"], settled, planned, failed, bool(result["stopped"]))

    @property
    def done(self) -> bool:
        """Complete, or ended where the user's own budget (--for, --max-cost, ...) ended it, with nothing lost."""
        by_its_bound = self.stopped and not self.failed and self.settled > 0
        return self.status == "completed" and (self.settled >= self.planned or by_its_bound)


def ended(runs: Sequence[Ended]) -> Exit:
    """The code of runs taken together.

    >>> full, some = Ended("completed", 9, 9, 0, False), Ended("completed", 7, 9, 2, False)
    >>> none, bound = Ended("failed", 0, 9, 9, False), Ended("completed", 7, 9, 0, True)
    >>> [ended(runs).value for runs in ([full], [some], [none], [bound], [full, none], [bound, full])]
    [0, 3, 5, 0, 3, 0]
    """
    if all(run.done for run in runs):
        return Exit.DONE
    return Exit.PART if any(run.settled for run in runs) else Exit.NOTHING
