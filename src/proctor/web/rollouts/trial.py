"""The dashboard: one trial. What came of it, its phases, what the agent did, its patch, verifier, logs and files."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from proctor.errors import errors
from proctor.references import TrialLimits
from proctor.service.rollouts import benchmark, trial
from proctor.service.rollouts.benchmark import RolloutBenchmark, TrialCell
from proctor.service.rollouts.trajectory import trajectory_of
from proctor.service.rollouts.trial import TrialPage
from proctor.trial_record import TrialRecord
from proctor.web.dependencies import OpenContext, Reader, is_fragment
from proctor.web.events import Events
from proctor.web.render import show
from proctor.web.rollouts.named import HERE, Named, TaskId, Try, as_file
from proctor.web.rollouts.trajectory import MOST_WIDTH, calls_shown
from proctor.web.rollouts.words import ENDS, PHASE_COLOURS

ROUTER = APIRouter()
First = Annotated[int | None, Query(ge=0, le=10**6)]
OPEN_LINES = 400  # of a patch up to which its files stand open
LONG = 1_200  # characters of what a step printed from which it is folded


@dataclass(frozen=True, slots=True)
class Bar:
    """A phase on the time line: `x` and `width` are to scale, of MOST_WIDTH."""

    name: str
    colour: str
    x: float
    width: float
    at: float
    seconds: float


def bars_of(record: TrialRecord) -> list[Bar]:
    """The phases from the first one's beginning to the last one's end; the shortest are one unit wide, to be seen."""
    if not record.phases:
        return []
    begin = min(phase.began_at for phase in record.phases)
    end = max(phase.began_at + phase.seconds for phase in record.phases)
    scale = MOST_WIDTH / max(end - begin, 1e-6)
    found = []
    for phase in record.phases:
        width = min(MOST_WIDTH, max(1.0, phase.seconds * scale))
        x = min(max(0.0, (phase.began_at - begin) * scale), MOST_WIDTH - width)
        colour = PHASE_COLOURS.get(phase.name, "a")
        found.append(Bar(phase.name, colour, x, width, phase.began_at - begin, phase.seconds))
    return found


@ROUTER.get(HERE)
def page(
    request: Request,
    context: OpenContext,
    user: Reader,
    name: Named,
    attempt: Try = None,
    calls_from: First = None,
) -> Response:
    found = trial.one_trial(context, name, attempt=attempt)
    told = trajectory_of(context, name, attempt=attempt)
    of = benchmark.one(context, found.plan)
    piece = "_rollout_trial.html" if is_fragment(request) else "rollout_trial.html"
    return show(
        request,
        piece,
        here="rollouts",
        of=of,
        found=found,
        cell=found.cell,
        record=found.record,
        limits=_limits(of, found.cell),
        asks=_asks(of, found.cell),
        patch=found.patch,
        bars=bars_of(found.record) if found.record else [],
        calls=calls_shown(told, calls_from, live=not found.cell.ended),
        width=MOST_WIDTH,
        ends=ENDS,
        cure=cure_of(found),
        long=LONG,
        opened=found.patch is not None and found.patch.added + found.patch.removed <= OPEN_LINES,
        same=same_task(of, found.cell),
        asked_try=attempt,
        now=time.time(),
        **_neighbours(of, found.cell),
    )


@ROUTER.get(HERE + "/events")
async def events(following: Events, context: OpenContext, user: Reader, name: Named) -> Response:
    """Says `changed` whenever the trial has begun another phase or try, or its files have grown."""

    def look() -> list[tuple[object, ...]]:
        found = trial.one_trial(context, name)
        sizes = tuple(each.bytes for each in found.files)
        return [(found.cell.state, found.cell.phase, found.cell.tries, len(found.tries), sizes)]

    return await following.of(("trial", name), look)


@ROUTER.get(HERE + "/patch")
def patch(context: OpenContext, user: Reader, name: Named, attempt: Try = None) -> Response:
    """The whole patch as a file."""
    text = trial.patch_text(context, name, attempt=attempt)
    return as_file(text.encode("utf-8", "replace"), "diff.patch")


@ROUTER.get(HERE + "/file")
def file(context: OpenContext, user: Reader, name: Named, file: TaskId) -> Response:
    """A file of the trial's folder, to be kept and never shown by the browser itself."""
    return as_file(trial.file_bytes(context, name, file), file)


def _limits(of: RolloutBenchmark, cell: TrialCell) -> TrialLimits:
    """What the trial might use: the benchmark's limits with what its entry sets of its own."""
    row = next(row for row in of.rows if row.run == cell.run)
    at = [task.folder for task in of.tasks if task.id == cell.task]
    entry = next((each for each in row.entries if each.folder in at), None)
    return entry.within(of.limits) if entry else of.limits


def _asks(of: RolloutBenchmark, cell: TrialCell) -> bool:
    """Whether its agent asks a model."""
    agent = next(row.agent for row in of.rows if row.run == cell.run)
    return agent is None or agent.model is not None


def same_task(of: RolloutBenchmark, cell: TrialCell) -> list[tuple[str, tuple[TrialCell, ...]]]:
    """The trials of the same task, by rows of the benchmark."""
    return [(row.label, cells) for row in of.rows if (cells := of.trials.get((row.run, cell.task), ()))]


def _neighbours(of: RolloutBenchmark, cell: TrialCell) -> dict[str, TrialCell | None]:
    """The trials before and after: rollout by rollout, row by row, task by task."""
    order = [each for task in of.tasks for row in of.rows for each in of.trials.get((row.run, task.id), ())]
    at = next((n for n, each in enumerate(order) if each.run_id == cell.run_id), 0)
    return {"before": order[at - 1] if at else None, "after": order[at + 1] if at + 1 < len(order) else None}


def cure_of(found: TrialPage) -> str:
    """What to do about a trial that measured nothing."""
    slug = (found.shown.slug if found.shown else found.cell.slug) or ""
    kind = errors().get(slug)
    return kind.cure if kind else ""
