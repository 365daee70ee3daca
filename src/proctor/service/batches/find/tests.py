"""What is asked of rows one by one, where columns and the index of words cannot tell: bounded, for each row is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import orjson

from proctor.service.batches.find.filters import RowFilter
from proctor.service.batches.find.sieve import Sieve, candidate_at, candidate_in
from proctor.service.context import Context
from proctor.store.read.batches import rows as batch_rows
from proctor.store.read.batches import words as batch_words
from proctor.store.read.batches.columns import BatchColumns
from proctor.store.read.batches.rows import WholeRow
from proctor.store.read.batches.words import WordsAsked
from proctor.types import Request, Run

READ = 1_000  # rows whose requests and replies one look reads
ASKED = 20_000  # rows whose ids one look reads

ById = Callable[[int], bool]
ByRow = Callable[[Sequence[WholeRow]], list[bool]]


@dataclass(frozen=True, slots=True)
class RowTests:
    """First by the id, then by what was said."""

    context: Context
    run: Run
    columns: BatchColumns
    by_id: tuple[ById, ...]
    by_row: tuple[ByRow, ...]

    def __bool__(self) -> bool:
        return bool(self.by_id or self.by_row)

    @property
    def most(self) -> int:
        """How many rows one look may go through."""
        return READ if self.by_row else ASKED

    def passed(self, ranks: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Those (number, rank) of which all holds."""
        kept = [each for each in ranks if all(test(each[1]) for test in self.by_id)]
        if not self.by_row or not kept:
            return kept
        keys = [(self.columns.id_of(rank), self.columns.place_of(rank)[1]) for _, rank in kept]
        found = batch_rows.whole(self.context.store, self.run.id, [key[0] for key in keys])
        there = [(each, found[key]) for each, key in zip(kept, keys, strict=True) if key in found]
        for test in self.by_row:
            held = test([row for _, row in there])
            there = [pair for pair, holds in zip(there, held, strict=True) if holds]
        return [each for each, _ in there]


def tests_of(
    context: Context,
    run: Run,
    columns: BatchColumns,
    wanted: RowFilter,
    sifted: Sieve,
    words: WordsAsked | None,
) -> RowTests:
    """What columns leave open; `words` are those that no index has looked for yet."""
    by_id, by_row = list(sifted.asks), list[ByRow]()
    by, name = wanted.candidate_by, wanted.candidate
    if by is not None and name is not None:
        if by.startswith("$"):
            by_row.append(lambda rows: [_candidate_in_body(row, by) == name for row in rows])
        else:
            by_id.append(lambda rank: candidate_in(columns.id_of(rank), by) == name)
    if words is not None:
        by_row.append(lambda rows: _with_words(rows, words))
    asked = batch_words.asked(wanted.text) if wanted.text else None
    if asked is not None and asked.parts:
        by_row.append(lambda rows: [batch_words.holds(batch_words.said_in(row), asked.parts) for row in rows])
    return RowTests(context, run, columns, tuple(by_id), tuple(by_row))


def _with_words(rows: Sequence[WholeRow], asked: WordsAsked) -> list[bool]:
    found = set(batch_words.among(map(batch_words.said_in, rows), asked))
    return [number in found for number in range(len(rows))]


def _candidate_in_body(row: WholeRow, path: str) -> str | None:
    ask = row.item.ask if row.item is not None else None
    return candidate_at(orjson.loads(ask.body), path) if isinstance(ask, Request) else None
