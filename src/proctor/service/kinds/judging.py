"""Judgings as a kind of source: kept replies, each asked of a judge; the grades go to the run that was judged."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from proctor.errors import NotFound
from proctor.protocols import Grader
from proctor.references import JudgingRef
from proctor.service.context import Context, open_store
from proctor.service.judging.judged import judged_replies
from proctor.service.judging.settling import settle
from proctor.service.kinds.contract import Method, SourceKind
from proctor.settings import Settings
from proctor.sources.judging.source import JudgingSource, judging_source, prompt_hash
from proctor.store import Store
from proctor.types import Item, Run

if TYPE_CHECKING:
    from proctor.simulator import KnownAnswer


def opened(ref: JudgingRef, settings: Settings) -> JudgingSource:
    """Raises: NotFound, ConfigError, DataError."""
    with open_store(settings) as store:
        return judging_source(ref, *judged_replies(store, ref))


def sized(ref: JudgingRef, context: Context) -> int:
    try:
        run = context.store.run(ref.run)
    except NotFound:  # it was deleted
        return 0
    orders = 2 if ref.against else 1
    return min(run.planned, ref.limit or run.planned) * len(ref.rubric.criteria) * orders


def method_of(source: JudgingSource) -> Method:
    return Method(source.grader.grade)


def answers_to(source: JudgingSource) -> dict[str, KnownAnswer]:
    """What a simulated judge is told: the grade that is right, where the run's own grader or its rows tell."""
    from proctor.service.judging.truth import known_answers

    return known_answers(source)


def rereader(ref: JudgingRef) -> Grader:
    return judging_source(ref, (), {}).grader


def hashed(item: Item) -> str:
    return prompt_hash(item.ask.messages)


def ended(run: Run, store: Store) -> None:
    assert isinstance(run.cell.source, JudgingRef)
    with suppress(NotFound):  # the judged run was deleted meanwhile: nobody is left to be given grades
        settle(store, run)


def said(run: Run, store: Store) -> Sequence[str]:
    from proctor.service.checked.summary import summary_lines  # statistics take their time to load

    return summary_lines(store, run)


def alike(ref: JudgingRef) -> Hashable:
    return ref.name, ref.against is None, ref.rubric.sha256


JUDGING: SourceKind[JudgingRef, JudgingSource] = SourceKind(
    sized=sized,
    alike=alike,
    open=opened,
    method=method_of,
    rereader=rereader,
    hashed=hashed,
    answers=answers_to,
    ended=ended,
    said=said,
    holds="verdicts",
    on_server=True,
    own=True,
)
