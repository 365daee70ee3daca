"""The dashboard: what every part of a run's page shows of it, whether it waits, works or has ended."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from proctor.errors import errors
from proctor.findings import Cause, RunResult, Score
from proctor.manifest import NOT_ENFORCED
from proctor.references import JudgingRef
from proctor.service.checked.at_hand import judges_here
from proctor.service.context import Context
from proctor.service.handing import over
from proctor.service.kinds import kind_of
from proctor.service.results.advice import advice, askings, goes_on
from proctor.service.watch import job_states
from proctor.service.watch.beside import side_by_side
from proctor.service.watch.job_states import JobState
from proctor.types import Run, Status
from proctor.web.runs.cures import clone, cut_off, in_browser_words, mended, told
from proctor.web.runs.live import LiveFacts, ended_title, live_facts, stacked, tab_title
from proctor.web.walks import walks_in
from proctor.web.words import ERROR_TITLES, things


def place(run: Run) -> str:
    """The entry of the menu that the run's page belongs to."""
    return {"requests": "batches", "tasks": "rollouts"}.get(kind_of(run.cell.source).holds, "history")


def common(context: Context, state: JobState) -> dict[str, Any]:
    run, holds = state.run, kind_of(state.run.cell.source).holds
    live = live_facts(context, state)
    result = job_states.result_of(context, run.id) if state.ended else live.causes if live else None
    causes = result.causes if result else ()
    problem = _problem(run, causes)
    return {
        "run": run,
        "state": state,
        "progress": state.progress,
        "job": state.job,
        "ended": state.ended,
        "live": live,
        "again": state.ended and kind_of(run.cell.source).on_server,
        "problem": problem,
        "causes": [] if _said_already(run, causes) else [told(cause, run, askings(run)) for cause in causes],
        "goes_on": goes_on(run, causes),
        "cancelling": state.job is not None
        and state.job.cancel_at is not None
        and run.status is Status.RUNNING,
        "result": result,
        "by_task": _lowest_first([score for score in result.scores if score.task]) if result else [],
        "stack": stacked(run, result.tally.outcomes, "not asked")
        if result and state.ended and holds != "tasks"
        else [],
        "cut_off": cut_off(run) if result and result.tally.outcomes.get("truncated") else None,
        "clone": clone(run),
        "stopped": in_browser_words(run.stopped or ""),
        "unenforced": _unenforced(run),
        "requests": holds == "requests",
        "tasks": holds == "tasks",
        "judging": run.cell.source if isinstance(run.cell.source, JudgingRef) else None,
        "to_judge": state.ended and holds != "verdicts" and run.settled > 0,
        "unscored": state.ended and holds != "verdicts" and result is not None and _unscored(context, result),
        "things": things(run),
        "now": time.time(),
        **_going_on(context, state),
        **_titles(state, result, live),
        **_beside(context, run),
    }


def _lowest_first(scores: Sequence[Score]) -> list[Score]:
    """Scores by task, tasks with the lowest first metric before others, those without a value last."""
    first = {score.task: score.estimate.value for score in reversed(scores)}

    def place(score: Score) -> tuple[bool, float, str]:
        value = first[score.task]
        return value is None, value or 0.0, score.task

    return sorted(scores, key=place)


def _going_on(context: Context, state: JobState) -> dict[str, Any]:
    """Whether the run may be restarted, or resumed where it began in a terminal; and what stands in the way."""
    run = state.run
    lies = state.job is None and over.left_lying(context, run)
    stands = over.in_the_way(context, run) if lies else None
    return {
        "restartable": state.job is not None and state.ended and _lacks(run),
        "resumable": lies and stands is None,
        "not_resumable": stands,
        "killed": lies and run.status is Status.RUNNING,
    }


def _titles(state: JobState, result: RunResult | None, live: LiveFacts | None) -> dict[str, str]:
    """What the browser's tab says, and what a notification says of a run that has ended."""
    run = state.run
    if not state.ended:
        return {"tab_says": tab_title(state), "told": ""}
    scores = result.scores if result else ()
    says = ended_title(run, scores[0].estimate if scores else None, partial=run.partial)
    return {"tab_says": says, "told": f"{says}: {run.cell.model} on {run.source_title}"}


def _beside(context: Context, run: Run) -> dict[str, Any]:
    """The walks of a run that is asked side by side with others, its own pairs first; nothing of other runs."""
    found = side_by_side(context, run)
    if found is None:
        return {"walks": [], "waits": [], "beside": (), "decision": None}
    plain = [each.cell.model.name for each in found.runs]
    names = {
        each.id: str(each.cell.model) if plain.count(each.cell.model.name) > 1 else each.cell.model.name
        for each in found.runs
    }
    return {
        "walks": walks_in(found.decision, names, run.id),
        "waits": [found.decision.waits] if found.decision.waits else [],
        "beside": [each for each in found.runs if each.id != run.id],
        "decision": found.decision,
    }


def _unscored(context: Context, result: RunResult) -> bool:
    """Whether it has answers of which nobody has said yet what they are worth: no grader, no judge."""
    answered = sum(result.tally.outcomes.get(name, 0) for name in ("answered", "truncated", "refused"))
    scored = any(score.estimate.scored for score in result.scores)
    return answered > 0 and not scored and not judges_here(context, result.run.id)


def _unenforced(run: Run) -> str:
    held = run.manifest.unenforced
    return f"{held.sentence}; {NOT_ENFORCED}" if held else ""


def _said_already(run: Run, causes: Sequence[Cause]) -> bool:
    """Whether what stopped the run is the only cause."""
    return len(causes) == 1 and run.error_slug == causes[0].slug and run.status is Status.FAILED


def _problem(run: Run, causes: Sequence[Cause]) -> dict[str, Any] | None:
    """What stopped the run, and what to do."""
    if not run.error or run.status is Status.COMPLETED:
        return None
    slug = run.error_slug or ""
    first = causes[0] if causes and causes[0].slug == slug else None
    cure, presses = mended(slug, run, first.said if first else run.error)
    if run.status is Status.PENDING:
        cure, presses = "Nothing, if it passes by itself: the job is tried again, at the time below.", []
    return {
        "title": ERROR_TITLES.get(slug, ERROR_TITLES[""]),
        "detail": run.error,
        "cure": cure,
        "presses": presses,
        "terminal": advice(first, run) if first else _by_hand(run, slug),
        "slug": slug,
        "failed": told(first, run, askings(run)) if first else None,
    }


def _by_hand(run: Run, slug: str) -> str:
    kind = errors().get(slug)
    return kind.cure.replace("RUN", run.id[:8]) if kind else ""


def _lacks(run: Run) -> bool:
    return run.status in (Status.FAILED, Status.CANCELLED) or run.partial
