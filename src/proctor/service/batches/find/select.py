"""Which rows of a batch's run a filter finds, in its order, from a cursor on, bounded in what is looked at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from proctor.errors import ConfigError, Conflict
from proctor.service.batches.find import files
from proctor.service.batches.find.filters import MEASURE_OF, RowFilter
from proctor.service.batches.find.sieve import mask_at, sieve
from proctor.service.batches.find.tests import RowTests, tests_of
from proctor.service.context import Context
from proctor.store.read.batches import rows as batch_rows
from proctor.store.read.batches import words as batch_words
from proctor.store.read.batches.columns import BatchColumns, columns_of
from proctor.store.read.batches.rows import Place
from proctor.store.read.batches.words import WordsAsked
from proctor.store.write import labels
from proctor.types import Run

if TYPE_CHECKING:
    import numpy as np

    from proctor.service.batches.find.sieve import Mask

    Ranks = np.ndarray[Any, np.dtype[Any]]

WINDOW = 10_000  # rows of a run at work, or not indexed yet, that one look goes through
RARE = 20_000  # rows with a word that are found at once; a more common one is found by walking
AT_ONCE = 250

How = Literal["whole", "building", "live"]
Numbered = list[tuple[int, int]]  # (how many rows of the order come before it, its rank)


class Selected(NamedTuple):
    """Rows that were found, by (custom_id, repeat), and where the next look begins; see `results.RowsPage`."""

    keys: list[tuple[str, int]]
    after: str | None
    matched: int | None
    total: int
    searched_to: int | None
    search: How


@dataclass(frozen=True, slots=True)
class PageStart:
    """Where a page begins: behind a place of the file, or behind so many rows of the order."""

    place: Place | None = None
    skipped: int = 0

    @classmethod
    def of(cls, cursor: str | None, at: int | None) -> PageStart:
        """Raises ConfigError for what is no cursor of a page."""
        if not cursor:
            return cls(skipped=at or 0)
        kind, numbers = cursor[0], cursor[1:].split(".")
        if all(each.isascii() and each.isdigit() and len(each) < 16 for each in numbers):
            if kind == "p" and len(numbers) == 2:
                return cls((int(numbers[0]), int(numbers[1])))
            if kind == "o" and len(numbers) == 1:
                return cls(skipped=int(numbers[0]))
        raise ConfigError(f"after {cursor[:40]!r} is no cursor: give what the page before said, or nothing")


@dataclass(frozen=True, slots=True)
class Look:
    """One look for rows: in which run, for what, from where, how many."""

    context: Context
    run: Run
    wanted: RowFilter
    start: PageStart
    limit: int


def select(look: Look) -> Selected:
    """Raises ConfigError, Conflict for an order that cannot be had yet, NotFound."""
    found = files.files_of(look.context, look.run)
    if found.columns is not None:
        lacks_words = look.wanted.text and found.words is None
        return _through(look, found.columns, found.words, "building" if lacks_words else "whole")
    how: How = "live" if look.run.finished_at is None else "building"
    if look.run.planned <= WINDOW:
        rows = batch_rows.narrow(look.context.store, look.run.id)
        return _through(look, columns_of(rows), None, how)
    return _in_window(look, how)


def _in_window(look: Look, how: How) -> Selected:
    """A part of a large run that has no columns yet, in the order of the file."""
    wanted, run = look.wanted, look.run
    if wanted.order != "place":
        why = "has ended" if how == "live" else "is indexed, which takes a minute"
        raise Conflict(f"{run.planned:,} requests can be ordered by {wanted.order} when the batch {why}")
    after = look.start.place
    if after is None and look.start.skipped:
        at = look.start.skipped
        after = (run.planned - at, -1) if wanted.descending else (at, -1)
    most = look.limit + 1 if wanted.plain else WINDOW
    rows = list(batch_rows.narrow(look.context.store, run.id, after, most, descending=wanted.descending))
    columns = columns_of(rows[::-1] if wanted.descending else rows)
    found = _through(replace(look, start=PageStart()), columns, None, how)
    found = found._replace(matched=None, total=run.planned)
    if len(rows) < most or found.after is not None:
        return found
    last = rows[-1]
    return found._replace(after=f"p{last.position}.{last.repeat}", searched_to=last.position)


def _through(look: Look, columns: BatchColumns, words: Path | None, how: How) -> Selected:
    """Rows of which there are columns."""
    wanted = look.wanted
    asked = batch_words.asked(wanted.text) if wanted.text else None
    if wanted.text and asked is None:
        return Selected([], None, 0, len(columns), None, how)
    sifted = sieve(columns, wanted)
    mask = _both(sifted.mask, _labelled(look, columns))
    common: Path | None = None
    if asked is not None and words is not None:
        few = _few_with(words, asked)
        mask, common = (mask, words) if few is None else (_both(mask, mask_at(columns, few)), None)
    unlooked = asked if words is None else None
    tests = tests_of(look.context, look.run, columns, wanted, sifted, unlooked)
    ordered = _pages(look, columns, mask, (common, asked) if common and asked else None)
    taken, last, ended = _taken(ordered, tests, look.limit)
    matched: int | None = None
    if not tests and common is None:
        matched = len(columns) if mask is None else int(mask.sum())
    elif ended and look.start == PageStart():
        matched = len(taken)
    return _selected(look, columns, (taken, None if ended else last), matched, how)


def _selected(
    look: Look,
    columns: BatchColumns,
    found: tuple[Numbered, tuple[int, int] | None],
    matched: int | None,
    how: How,
) -> Selected:
    taken, looked_at = found
    shown = taken[: look.limit]
    full = len(taken) > look.limit
    last = shown[-1] if full else looked_at
    after = None
    if last is not None:
        position, repeat = columns.place_of(last[1])
        after = f"p{position}.{repeat}" if look.wanted.order == "place" else f"o{last[0] + 1}"
    return Selected(
        [(columns.id_of(rank), columns.place_of(rank)[1]) for _, rank in shown],
        after,
        matched,
        len(columns),
        None if full or last is None else columns.place_of(last[1])[0],
        how,
    )


def _taken(
    pages: Iterator[Numbered], tests: RowTests, limit: int
) -> tuple[Numbered, tuple[int, int] | None, bool]:
    """One row more than the page has, the last that was looked at, and whether no more are there."""
    taken: Numbered = []
    last, seen = None, 0
    for page in pages:
        taken += tests.passed(page) if tests else page
        last, seen = page[-1], seen + len(page)
        if len(taken) > limit or (tests and seen >= tests.most):
            return taken, last, False
    return taken, last, True


def _both(one: Mask | None, other: Mask | None) -> Mask | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _few_with(words: Path, asked: WordsAsked) -> Ranks | None:
    """All rows with the words, where they are few; None where a walk finds them soon."""
    import numpy as np

    pages = list(islice(batch_words.found(words, asked), RARE // batch_words.ROWS_AT_ONCE))
    ranks = np.concatenate(pages) if pages else np.asarray([], dtype=np.int64)
    return None if len(ranks) >= RARE else ranks


def _labelled(look: Look, columns: BatchColumns) -> Mask | None:
    label, tag = look.wanted.label, look.wanted.tag
    if label is None and tag is None:
        return None
    told = list(labels.all_current(look.context.store, look.run.id))
    if label == "none":
        mask: Mask = ~mask_at(
            columns, columns.ranks_at([(at, each.repeat) for at, each in told if each.verdict])
        )
        return mask
    places = [
        (at, each.repeat)
        for at, each in told
        if (label is None or each.verdict == label or (label == "any" and each.verdict))
        and (tag is None or tag in each.tags)
    ]
    return mask_at(columns, columns.ranks_at(places))


def _pages(
    look: Look, columns: BatchColumns, mask: Mask | None, walk: tuple[Path, WordsAsked] | None
) -> Iterator[Numbered]:
    """The ranks that the mask has, in the order that is wanted, behind where the page begins."""
    import numpy as np

    wanted, start = look.wanted, look.start
    low, high = 0, len(columns)
    if wanted.order == "place" and start.place is not None:
        low, high = (
            (0, columns.rank_at(start.place))
            if wanted.descending
            else (columns.rank_after(start.place), high)
        )
    if walk is not None:
        edge = high if wanted.descending else low - 1
        words = batch_words.found(*walk, edge, descending=wanted.descending)
        if wanted.order == "place":
            return _walked(words, mask, start.skipped)
        mask = _both(mask, mask_at(columns, np.concatenate(list(words))))
    if wanted.order != "place":
        return _sliced(_by_measure(columns, mask, wanted), start.skipped)
    ranks = np.arange(low, high) if mask is None else np.flatnonzero(mask[low:high]) + low
    return _sliced(ranks[::-1] if wanted.descending else ranks, start.skipped)


def _sliced(ranks: Ranks, skip: int) -> Iterator[Numbered]:
    for begin in range(skip, len(ranks), AT_ONCE):
        yield list(enumerate(ranks[begin : begin + AT_ONCE].tolist(), begin))


def _walked(pages: Iterator[Ranks], mask: Mask | None, skip: int) -> Iterator[Numbered]:
    before = 0
    for page in pages:
        kept = page if mask is None else page[mask[page]]
        if before + len(kept) > skip:
            numbered = list(enumerate(kept.tolist(), before))
            yield numbered[max(0, skip - before) :]
        before += len(kept)


def _by_measure(columns: BatchColumns, mask: Mask | None, wanted: RowFilter) -> Ranks:
    """Rows by what was measured; those where nothing was measured come last, whichever way."""
    import numpy as np

    name = MEASURE_OF[wanted.order]
    ranks = columns.orders[name]
    measured = len(ranks) - int(np.isnan(columns.measures[name]).sum())
    if wanted.descending:
        ranks = np.concatenate([ranks[:measured][::-1], ranks[measured:]])
    return ranks if mask is None else ranks[mask[ranks]]
