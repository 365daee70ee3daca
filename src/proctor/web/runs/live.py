"""The dashboard: what a run at work shows. Its score as it narrows, outcomes as a stack, tasks, the latest replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proctor.findings import Estimate, RunResult, Score
from proctor.service.context import Context
from proctor.service.kinds import kind_of
from proctor.service.watch import job_states
from proctor.service.watch.following import SoFar, following
from proctor.service.watch.job_states import JobState
from proctor.types import Run, Status
from proctor.web.addresses import query
from proctor.web.words import OUTCOME_WORDS, things

SCORED_LIVE = 5_000  # items up to which a score that is no share of right answers is computed at each look
OPEN_TASKS = 12  # more are folded


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a stacked bar: its name, which has a colour, its word, number, and the address of its items."""

    name: str
    word: str
    n: int
    href: str = ""


@dataclass(frozen=True, slots=True)
class LiveFacts:
    """What the live piece shows of a run at work. `score` is the headline so far, None where there is none yet."""

    so_far: SoFar
    stack: Sequence[Part]
    chart: dict[str, Any] | None
    score: Score | None
    own_score: bool  # whether the chart is of the headline itself
    causes: RunResult | None


def live_facts(context: Context, state: JobState) -> LiveFacts | None:
    """None before the rows are opened, when the run has ended, and for trials, which have a page of their own."""
    run = state.run
    if state.ended or not run.manifest.opened or kind_of(run.cell.source).holds == "tasks":
        return None
    so_far = following(context, run)
    result = _counted(context, run, so_far)
    own = not so_far.why_not
    score = Score("", "", so_far.name, so_far.now) if own and so_far.now is not None else None
    if score is None and result is not None and result.scores and result.scores[0].estimate.value is not None:
        score = result.scores[0]
    return LiveFacts(so_far, stacked(run, so_far.outcomes), narrowing(run, so_far), score, own, result)


def _counted(context: Context, run: Run, so_far: SoFar) -> RunResult | None:
    """All figures of the rows by now, where they are wanted, and few enough to be counted at each look."""
    wanted = (so_far.why_not and so_far.graded) or so_far.outcomes.get("error")
    return job_states.result_of(context, run.id) if wanted and run.settled <= SCORED_LIVE else None


def stacked(run: Run, outcomes: Mapping[str, int], left: str = "still to come") -> list[Part]:
    """What became of all that is planned; the numbers add up to it. `left` is what the others are called."""
    to = f"/runs/{run.id}/results"
    parts = [
        Part(name, word, outcomes[name], to + query({}, outcome=name))
        for name, (word, _) in OUTCOME_WORDS.items()
        if outcomes.get(name)
    ]
    others = run.planned - sum(outcomes.values())
    return [*parts, Part("to_come", left, others)] if others > 0 else parts


def narrowing(run: Run, so_far: SoFar) -> dict[str, Any] | None:
    """The chart of the score as it narrows; None before two points of it."""
    if len(so_far.points) < 2:
        return None
    return {
        "of": run.planned,
        "what": things(run),
        "name": so_far.name,
        "points": [[p.items, round(p.value, 4), round(p.low, 4), round(p.high, 4)] for p in so_far.points],
    }


def tab_title(state: JobState) -> str:
    """What the browser's tab says before the page's name: how far a run is, or how it ended."""
    run = state.run
    if run.status is Status.PENDING:
        return "waiting"
    if state.percentage is None:
        return "opening"
    return f"{int(state.percentage)} %"


def ended_title(run: Run, headline: Estimate | None, *, partial: bool) -> str:
    """The same of a run that has ended.

    A run whose score is not measured is done all the same.
    """
    if run.status is not Status.COMPLETED:
        return run.status.value
    word = "partial" if partial else "done"
    return f"{word} {headline.value:.2f}" if headline and headline.value is not None else word
