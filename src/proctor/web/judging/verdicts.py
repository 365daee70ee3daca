"""The dashboard: what judges and people say of runs. The judge's own, people's own, corrected, and which to quote."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from proctor.errors import ConfigError, NotFound
from proctor.service.checked.at_hand import judges_here, judgings_here
from proctor.service.checked.found import JudgedComparison, JudgedResult
from proctor.service.checked.leaning import leanings
from proctor.service.checked.words import agreement_heads, agreement_rows, agreements, labels_words
from proctor.service.checked.worth import judged_comparison, judged_result
from proctor.service.context import Context
from proctor.service.evidence.cache import Lately
from proctor.service.judging.judgings import kept_as
from proctor.service.judging.kept_judges import JudgeName
from proctor.service.watch import job_states
from proctor.service.watch.job_states import JobState
from proctor.types import Run
from proctor.web.dependencies import OpenContext, Reader, Text, is_fragment
from proctor.web.judging.judge import RunIds, judged_runs
from proctor.web.render import show

ROUTER = APIRouter()
_COMMAND = re.compile(r"`proctor label(?: [0-9a-f ]+)?`")


@dataclass(frozen=True, slots=True)
class JudgedCard:
    """One judge of one run, as a card shows it."""

    result: JudgedResult
    sentence: str
    agreements: list[tuple[Any, tuple[str, ...], list[tuple[str, ...]]]]
    told: tuple[str, ...]  # of its family, and of labels that are in no estimate
    judging: str | None  # the judge's own run


@dataclass(frozen=True, slots=True)
class ComparedCard:
    """One judge of two runs, as a card shows it."""

    found: JudgedComparison
    sentence: str
    told: tuple[str, ...]


@ROUTER.get("/verdict")
def verdict_page(request: Request, context: OpenContext, user: Reader, runs: RunIds) -> Response:
    """The page, or with htmx the part that other pages hold."""
    found = judged_runs(context, runs)
    facts = verdict_facts(context, found)
    if is_fragment(request):
        return show(request, "_verdict.html", **facts)
    return show(request, "verdict.html", here="history", **facts)


@ROUTER.get("/verdict/work")
def work_piece(request: Request, context: OpenContext, user: Reader, runs: RunIds) -> Response:
    """How far the judgings are."""
    found = judged_runs(context, runs)
    return show(request, "_verdict_work.html", **_at_work(context, found))


def verdict_facts(context: Context, runs: Sequence[Run]) -> dict[str, Any]:
    return {
        "runs": runs,
        "cards": [(run, [_card(context, run, name) for name in _judges(context, run, runs)]) for run in runs],
        "compared": [card for pair in combinations(runs, 2) for card in _compared(context, *pair)],
        **_at_work(context, runs),
    }


def _at_work(context: Context, runs: Sequence[Run]) -> dict[str, Any]:
    """Judgings that work or wait, and those that ended without all of their verdicts."""
    states: dict[str, JobState] = {}
    for run in runs:
        for judging in judgings_here(context, run.id):
            states.setdefault(judging.id, job_states.state_of(context, judging.id))
    live = [state for state in states.values() if not state.ended]
    short = [state for state in states.values() if state.ended and (state.run.partial or state.run.error)]
    names = {run.id: str(run.cell.model) for run in runs}
    return {"ids": [run.id for run in runs], "names": names, "live": live, "short": short}


def _judges(context: Context, run: Run, runs: Sequence[Run]) -> list[JudgeName]:
    """The judges of a run; of several runs that are looked at, the pairs between them have cards of their own."""
    others = {each.id for each in runs} - {run.id}
    return [name for name in judges_here(context, run.id) if name.against not in others or not others]


def _card(context: Context, run: Run, name: JudgeName) -> JudgedCard:
    result = judged_result(context, run.id, name.grader)
    judgings = {kept_as(each, run.id): each.id for each in judgings_here(context, run.id)}
    tables = [(each, agreement_heads(each), agreement_rows(each)) for each in agreements(result)]
    told = tuple(map(in_browser, (*result.remarks, *labels_words(result.labels))))
    return JudgedCard(result, in_browser(result.sentence), tables, told, judgings.get(name.grader))


@ROUTER.get("/verdict/leanings")
def leanings_piece(request: Request, context: OpenContext, user: Reader, run: Text, grader: Text) -> Response:
    """What a judge leans to, in a list of its own: every reply is read for it."""
    of = job_states.run_of(context, run)
    known = judged_result(context, of.id, grader)  # other labels or grades give other figures
    key = ("leanings", of.id, grader, str((known.whole, known.criteria, known.labels)))
    found = Lately(context).kept(key, lambda: leanings(context, of.id, grader))
    told = tuple(dict.fromkeys(in_browser(line) for each in found for line in each.measured))
    return show(request, "_verdict_leanings.html", told=told)


def _compared(context: Context, first: Run, second: Run) -> list[ComparedCard]:
    """By each judge that graded both, or preferred of them."""
    mine, theirs = (
        judges_here(context, first.id),
        {each.grader for each in judges_here(context, second.id)},
    )
    cards = []
    for name in mine:
        if name.grader in theirs if name.against is None else name.against == second.id:
            try:
                found = judged_comparison(context, first.id, second.id, name.grader)
            except (ConfigError, NotFound):
                continue  # no item is graded of both
            told = dict.fromkeys((*found.remarks, *labels_words(found.labels)))
            cards.append(ComparedCard(found, in_browser(found.sentence), tuple(map(in_browser, told))))
    return cards


def in_browser(sentence: str) -> str:
    """What a sentence says for terminals, for whoever has the buttons before them.

    >>> in_browser("`proctor label 0a1b2c3d` takes more.")
    '“Label answers” takes more.'
    """
    return _COMMAND.sub("“Label answers”", sentence)
