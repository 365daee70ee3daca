"""What a model's last runs tell about the next: those most like it, and in words how they differ from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from proctor.findings import Tally
from proctor.protocols import Source
from proctor.service.kinds import kind_of
from proctor.service.results.profile import counted_tally
from proctor.service.results.results import marks
from proctor.stats.descriptive.averages import mean, middle
from proctor.stats.power import Assumed, within_variance
from proctor.store import Store
from proctor.types import Cell, Outcome, Run, Status

LAST_RUNS = 5
LOOKED_AT = 200  # of a model's newest runs
LEAST_SHARE, MOST_SHARE = 0.05, 0.95


@dataclass(frozen=True, slots=True)
class PreviousRuns:
    """A model's last runs that are most like what is planned, newest first, and what they are in words."""

    runs: tuple[Run, ...] = ()
    tallies: tuple[Tally, ...] = ()
    same_source: bool = False
    basis: str = ""


# What makes answers longer or shorter, and what makes a run quicker or slower.
_ANSWERING: dict[str, Callable[[Cell], object]] = {
    "think": lambda cell: cell.sampling.think,
    "mode": lambda cell: cell.sampling.mode,
}
_ASKING: dict[str, Callable[[Cell], object]] = {
    "max-tokens": lambda cell: cell.sampling.max_tokens,
    "repeats": lambda cell: cell.repeats,
    "parallel": lambda cell: cell.limits.parallel,
    "base-url": lambda cell: cell.model.base_url,
}


def past_of(store: Store, cell: Cell, source: Source) -> PreviousRuns:
    """The runs most like the cell: first in how answers are drawn, then in their source, then in the rest."""
    sample = source.facts.sample
    found = [
        run
        for run in store.runs(limit=LOOKED_AT, model=str(cell.model), status=Status.COMPLETED)
        if str(run.cell.model) == str(cell.model) and run.settled and not run.cell.source.imported
    ]
    if not found:
        return PreviousRuns(basis=f"no earlier run of {cell.model}")

    def likeness(run: Run) -> tuple[int, bool, int]:
        same = _same_questions(cell, run.cell) and run.sample == sample
        return -len(_other(_ANSWERING, cell, run.cell)), same, -len(_other(_ASKING, cell, run.cell))

    best = max(map(likeness, found))
    runs = [run for run in found if likeness(run) == best][:LAST_RUNS]
    last = "its last run" if len(runs) == 1 else f"its last {len(runs)} runs"
    titles = ", ".join(dict.fromkeys(run.source_title for run in runs))
    where = "of this source" if best[1] else f"of other questions ({titles})"
    differ = {name for run in runs for name in _other({**_ANSWERING, **_ASKING}, cell, run.cell)}
    asked = f", with other {', '.join(sorted(differ))}" if differ else ""
    return PreviousRuns(
        tuple(runs), tuple(counted_tally(store, run) for run in runs), best[1], f"{last} {where}{asked}"
    )


def _other(facts: Mapping[str, Callable[[Cell], object]], one: Cell, two: Cell) -> list[str]:
    return [name for name, look in facts.items() if look(one) != look(two)]


def _same_questions(one: Cell, two: Cell) -> bool:
    """Questions of one kind, as long as each other; how many of them does not matter."""
    a, b = (kind_of(cell.source).alike(cell.source) for cell in (one, two))
    return a == b


def assumed_of(store: Store, repeats: int, pasts: Sequence[PreviousRuns]) -> tuple[Assumed, str]:
    """What past runs of this source say about two models like these, and in words where that is from."""
    here = [past for past in pasts if past.same_source]
    share = mean(middle(map(_right, past.tallies)) for past in here)
    assumed = Assumed(repeats=repeats)
    basis = "an assumption, for want of earlier runs of this source"
    if share is not None:
        share = min(MOST_SHARE, max(LEAST_SHARE, share))
        assumed, basis = replace(assumed, share=share), "the share of right answers in earlier runs"
    if repeats > 1:
        repeated = [run for past in here for run in past.runs[:1] if run.cell.repeats > 1]
        within = mean(within_variance(marks(store, run)) for run in repeated)
        assumed = replace(assumed, within=within or 0.0)
    return assumed, basis


def _right(tally: Tally) -> float | None:
    """The share of right answers among those that could be right or wrong."""
    unknown = tally.outcomes.get(Outcome.ERROR, 0) + tally.outcomes.get(Outcome.ANSWERED, 0)
    judged = sum(tally.outcomes.values()) - unknown
    return tally.outcomes.get(Outcome.CORRECT, 0) / judged if judged else None


def why_not(past: PreviousRuns, what: str) -> str:
    """Why a figure is not known: there is no run, or the runs did not say."""
    return f"{past.basis}, which did not report {what}" if past.runs else past.basis
