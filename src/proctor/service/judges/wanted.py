"""What somebody wants judged, at whichever door, as the plan that runs: one cell for each judge and judged run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from proctor.errors import ConfigError
from proctor.plan import check
from proctor.plan.build import sampling_of
from proctor.plan.option import Given
from proctor.plan.wanted import OF_JUDGINGS, Wanted
from proctor.references import GradingRubric, JudgingRef
from proctor.service.context import Context, find
from proctor.service.judging.changes import own_rubric
from proctor.service.judging.names import VOTING_TEMPERATURE
from proctor.service.opening.sources import models_named
from proctor.types import Cell, Limits, Plan, Run

MOST_VOTES = 25
_NAMES = frozenset(option.name for option in OF_JUDGINGS)


@dataclass(frozen=True, slots=True)
class JudgingWanted:
    """What is to be judged, by whom and how.

    `runs` are ids of runs, or of plans of several, all of which are judged; their beginnings will do. `judges` are
    models as PROVIDER/NAME, each of which judges all. Without a `rubric` it is the built-in one. `votes` is how often
    each judge is asked about one reply. `against` is the id of the run whose replies are the others of pairs. `given`
    holds values by the names of OF_JUDGINGS.
    """

    runs: tuple[str, ...]
    judges: tuple[str, ...]
    rubric: GradingRubric | None = None
    votes: int = 1
    against: str | None = None
    given: Given = field(default_factory=lambda: MappingProxyType({}))


def judging_plan(context: Context, wanted: JudgingWanted, *, base: Limits | None = None) -> Plan:
    """The plan of a judging; `base` has the limits that count where none were given.

    Raises: NotFound, ConfigError for what cannot be judged or meant.
    """
    _check(wanted)
    judged = _judged(context, wanted)
    models = models_named(wanted.judges, context.settings, base_url=wanted.given.get("base_url"))
    asked = Wanted("", wanted.judges, _with_temperature(wanted))
    limits = replace(base or Limits(), **asked.of("limits"))
    against = _against(context, wanted, judged)
    now = time.time()
    refs = [
        JudgingRef(
            run.cell.source.listed,
            run.id,
            against=against,
            rubric=wanted.rubric or own_rubric(context.store, run),
            limit=wanted.given.get("limit"),
            until=now,
        )
        for run in judged
    ]
    cells = tuple(
        Cell(model, ref, sampling_of(asked), limits, repeats=wanted.votes) for ref in refs for model in models
    )
    return check(Plan(cells, name=refs[0].listed, **asked.of("plan")))


def _check(wanted: JudgingWanted) -> None:
    if unknown := sorted(wanted.given.keys() - _NAMES):
        raise ConfigError(f"a judging has no option {unknown[0]!r}; known: {', '.join(sorted(_NAMES))}")
    if not wanted.judges:
        raise ConfigError("No judge given: add --judge PROVIDER/NAME (`proctor models` lists them)")
    if twice := sorted({each for each in wanted.judges if wanted.judges.count(each) > 1}):
        raise ConfigError(
            f"--judge {twice[0]} is given twice; --votes {wanted.judges.count(twice[0])} asks it that often"
        )
    if not 1 <= wanted.votes <= MOST_VOTES:
        raise ConfigError(f"--votes {wanted.votes}: from 1 to {MOST_VOTES}")
    if wanted.votes > 1 and wanted.given.get("temperature") == 0:
        raise ConfigError(
            f"--votes {wanted.votes} --temperature 0 asks for the same vote {wanted.votes} times: leave out one of "
            f"them (without a temperature, votes are drawn at {VOTING_TEMPERATURE:g})"
        )


def _with_temperature(wanted: JudgingWanted) -> Given:
    unsaid = {"temperature": VOTING_TEMPERATURE} if wanted.votes > 1 else {}
    return {**unsaid, **wanted.given}


def _judged(context: Context, wanted: JudgingWanted) -> Sequence[Run]:
    """The runs that the ids mean, each once. Raises: NotFound, ConfigError."""
    runs = {run.id: run for ident in wanted.runs for run in find(context.store, ident)}
    if not runs:
        raise ConfigError("No run given whose replies are to be judged (`proctor list` lists them)")
    for run in runs.values():
        if isinstance(run.cell.source, JudgingRef):
            raise ConfigError(
                f"Run {run.id[:8]} is a judging itself: judge run {run.cell.source.run[:8]}, whose replies it grades"
            )
        if run.finished_at is None:
            raise ConfigError(
                f"Run {run.id[:8]} has not ended yet, and its replies can be judged when it has: `proctor show "
                f"{run.id[:8]}` says how it stands"
            )
    return list(runs.values())


def _against(context: Context, wanted: JudgingWanted, judged: Sequence[Run]) -> str | None:
    if wanted.against is None:
        return None
    others = find(context.store, wanted.against)
    if len(others) > 1 or len(judged) > 1:
        many = wanted.against if len(others) > 1 else ", ".join(wanted.runs)
        raise ConfigError(f"{many} means several runs; pairs are of one run and one other")
    if others[0].id == judged[0].id:
        raise ConfigError(f"Run {judged[0].id[:8]} is no other run than itself: name two runs")
    return others[0].id
