"""One answer with everything that is known of it, the same item in other runs, and how their replies differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from proctor.errors import ConfigError, NotFound
from proctor.grading.nearest import Nearest
from proctor.service.context import Context
from proctor.service.results import diagnosis, notes
from proctor.service.results.answer_kinds import reads
from proctor.service.results.differing import RequestBeside, differing
from proctor.service.results.notes import Note
from proctor.service.watch import job_states
from proctor.service.watch.job_states import RunFilter, RunLine
from proctor.store import AttemptRow
from proctor.store.read import glances, pages, sorted_pages
from proctor.store.read.pages import Cursor, Filter, ResultsPage
from proctor.store.read.sorted_pages import Sorting
from proctor.types import Item, Outcome, Run

__all__ = [
    "Answer", "AnswerAsked", "Cursor", "Elsewhere", "Filter", "ReplyBeside", "ResultsPage", "all_rows", "answer",
    "chosen", "results_page",
]  # fmt: skip

EXPORTED_AT_ONCE = 1000
OTHER_RUNS = 30  # of the same source, looked through for the item
UNREAD = (Outcome.NO_ANSWER, Outcome.TRUNCATED, Outcome.REFUSED)


@dataclass(frozen=True, slots=True)
class AnswerAsked:
    """Which answer: the item, which asking of it, and which attempt at that (None: the latest).

    `beside` is the reply that it is compared with: a run's id, or `REPEAT.ATTEMPT` of this run. `listed` is the list
    that it stands in; without one its neighbours are not looked up.
    """

    item_id: str
    repeat: int = 0
    attempt: int | None = None
    beside: str = ""
    listed: tuple[Filter, Sorting | None] | None = None


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The same item in another run, and what was said there."""

    run: RunLine
    row: AttemptRow
    text: str
    error: str


@dataclass(frozen=True, slots=True)
class ReplyBeside:
    """Another reply to the same item and where it differs; `whose` is a run, or None for one of this run.

    `difference` is None where one of the two has no text.
    """

    row: AttemptRow
    whose: RunLine | None
    text: str
    difference: RequestBeside | None


@dataclass(frozen=True, slots=True)
class Answer:
    """An attempt with its item and its reply. `payload` is None for what left none.

    `near` is what came nearest to an answer in a reply that states none. `others` are the run's other attempts at the
    item, `before` and `after` its neighbours in the list.
    """

    row: AttemptRow
    item: Item
    payload: dict[str, Any] | None
    attempts: Sequence[AttemptRow]  # the last first; `row` is one of them
    others: Sequence[AttemptRow]
    notes: Sequence[Note]
    before: AttemptRow | None
    after: AttemptRow | None
    elsewhere: Sequence[Elsewhere]
    near: Nearest | None = None
    beside: ReplyBeside | None = None


def results_page(
    context: Context, run_id: str, wanted: Filter, *, after: Cursor | None = None, limit: int = 50
) -> ResultsPage:
    """Raises NotFound."""
    return pages.page(context.store, run_id, wanted, after=after, limit=limit)


def all_rows(context: Context, run_id: str, wanted: Filter) -> Iterator[AttemptRow]:
    """Every row that the filter lets through, page after page. Raises NotFound."""
    after: Cursor | None = None
    while True:
        page = results_page(context, run_id, wanted, after=after, limit=EXPORTED_AT_ONCE)
        yield from page.rows
        if page.after is None:
            return
        after = page.after


def chosen(context: Context, run_id: str, keys: Sequence[tuple[str, int]]) -> list[AttemptRow]:
    """The latest attempts at some askings, (item id, repeat), in their order; what is not there is left out."""
    found = []
    for item_id, repeat in dict.fromkeys(keys):
        found += pages.attempts_of(context.store, run_id, item_id, repeat)[:1]
    return found


def answer(context: Context, run: Run, asked: AnswerAsked) -> Answer:
    """One attempt at one asking of an item. Raises NotFound, ConfigError for a reply beside it that is none."""
    store = context.store
    askings = pages.attempts_of(store, run.id, asked.item_id, None)
    attempts = [row for row in askings if row.repeat == asked.repeat]
    row = next((row for row in attempts if asked.attempt in (None, row.attempt)), None)
    if row is None:
        raise NotFound(f"Run {run.id[:8]} has no answer to item {asked.item_id}, repeat {asked.repeat}")
    item = store.item(row.item_hash)
    payload = _payload(context, run, row)
    elsewhere = _elsewhere(context, run, row)
    before, after = _neighbours(context, run, row, asked.listed)
    return Answer(
        row=row,
        item=item,
        payload=payload,
        attempts=attempts,
        others=[each for each in askings if each is not row],
        notes=notes.of_item(context, run.id, row.item_id, row.repeat),
        before=before,
        after=after,
        elsewhere=elsewhere,
        near=_near(context, run, row) if payload and row.outcome in UNREAD else None,
        beside=_beside(context, run, asked.beside, (payload or {}).get("text"), (askings, elsewhere))
        if asked.beside
        else None,
    )


def _payload(context: Context, run: Run, row: AttemptRow) -> dict[str, Any] | None:
    try:
        return context.store.payload(run.id, row.item_id, row.repeat, row.attempt)
    except NotFound:
        return None


def _near(context: Context, run: Run, row: AttemptRow) -> Nearest | None:
    """What came nearest to an answer; None of a run of an older version, whose kinds of answers are not known."""
    try:
        known = reads(run)
    except ConfigError:
        return None
    return diagnosis.opened(context.store, run, row, known).near if row.task in known else None


def _neighbours(
    context: Context, run: Run, row: AttemptRow, listed: tuple[Filter, Sorting | None] | None
) -> tuple[AttemptRow | None, AttemptRow | None]:
    """The rows before and after in the list that one came from."""
    if listed is None:
        return None, None
    wanted, sorting = listed
    if sorting is None:
        before, after = pages.neighbours(context.store, run.id, row, wanted)
        return before, after
    place = sorted_pages.place_of(context.store, run.id, row, sorting)
    found = [
        sorted_pages.sorted_page(context.store, run.id, wanted, sorting, after=place, back=back, limit=1).rows
        for back in (True, False)
    ]
    return (found[0] or (None,))[0], (found[1] or (None,))[0]


def _elsewhere(context: Context, run: Run, row: AttemptRow) -> list[Elsewhere]:
    """The latest attempts at the same item, with the same words, in other runs of the source."""
    lines = job_states.run_lines(context, RunFilter(source=job_states.source_of(run)), limit=OTHER_RUNS)[0]
    others = [line for line in lines if line.id != run.id]
    found = glances.in_runs(context.store, [line.id for line in others], row.item_id, row.repeat)
    return [
        Elsewhere(line, other, said.get("text") or "", said.get("error") or "")
        for line in others
        if line.id in found
        for other, said in [found[line.id]]
        if other.item_hash == row.item_hash
    ]


def _beside(
    context: Context,
    run: Run,
    name: str,
    text: str | None,
    there: tuple[Sequence[AttemptRow], Sequence[Elsewhere]],
) -> ReplyBeside:
    """Raises ConfigError."""
    askings, elsewhere = there
    other = next((each for each in elsewhere if each.run.id == name), None)
    if other is not None:
        return ReplyBeside(other.row, other.run, other.text, _differing(text, other.text))
    own = next((row for row in askings if f"{row.repeat}.{row.attempt}" == name), None)
    if own is None:
        raise ConfigError(
            f"beside={name[:60]!r}: name a run that was asked this item too, or a repeat and an attempt, such as 1.0"
        )
    said = (_payload(context, run, own) or {}).get("text") or ""
    return ReplyBeside(own, None, said, _differing(text, said))


def _differing(one: str | None, two: str) -> RequestBeside | None:
    return differing(one, two) if one and two else None
