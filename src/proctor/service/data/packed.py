"""The runs of a bundle, read as the store has runs: their rows in order, and their attempts with what was said."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from proctor.errors import DataError
from proctor.service.data import records
from proctor.service.data.unpack import BundleArchive, opened, run_ids, sum_faults
from proctor.store import AttemptRow
from proctor.types import Attempt, Failure, Grade, Item, Reply, Run, Usage

LOOKED_BACK = 4_000  # items of a bundle that are known at once; its replies come in the same order


@contextmanager
def packed_runs(path: Path) -> Iterator[tuple[BundleArchive, list[Run]]]:
    """The runs of a bundle whose sums hold, open as long as the block lasts. Raises: DataError."""
    with opened(path) as archive:
        for fault in sum_faults(archive):
            raise DataError(f"{path}: {fault}. `proctor verify {path}` tells all")
        runs = []
        for ident in run_ids(archive)[1]:
            name = f"{records.folder(ident)}/{records.MANIFEST}"
            runs.append(records.run_from(records.from_bytes(archive.content(name), name), name)[0])
        yield archive, runs


@dataclass(frozen=True, slots=True)
class PackedAttempt:
    """An attempt as a bundle has it: of the server's own words it keeps none."""

    row: AttemptRow
    item: Item
    reply: Reply | None
    error: str | None

    def attempt(self, item: Item) -> Attempt:
        """The attempt at `item`, which is the packed one, or the same with what the model was shown."""
        row = self.row
        failure = Failure(row.error_slug or "unknown", self.error or "") if self.reply is None else None
        return Attempt(
            item,
            row.position,
            row.repeat,
            row.attempt,
            row.at,
            Grade(row.outcome, row.score, row.answer, row.rung),
            reply=self.reply,
            failure=failure,
            retries=row.retries,
            in_flight=row.in_flight,
            unused=Usage(row.unused_input_tokens, row.unused_output_tokens, row.unused_cost_usd),
        )


def packed_attempts(archive: BundleArchive, run: Run) -> Iterator[PackedAttempt]:
    """Replies and items stand in the same order, so that only some of them are in memory at a time.

    Raises: DataError.
    """
    ahead = archive.lines(f"{records.folder(run.id)}/{records.ITEMS}")
    items: dict[tuple[str, str], Item] = {}
    for where, line in archive.lines(f"{records.folder(run.id)}/{records.REPLIES}"):
        record = records.from_bytes(line, where)
        _read_up_to((record.get("item"), record.get("hash")), items, ahead)
        row, reply = records.reply_from(record, items, where)
        yield PackedAttempt(row, items[row.item_id, row.item_hash], reply, record.get("error"))


def _read_up_to(
    wanted: tuple[object, object], items: dict[tuple[str, str], Item], ahead: Iterator[tuple[str, bytes]]
) -> None:
    """Read items until the wanted one is among them; the oldest are forgotten."""
    while wanted not in items and (line := next(ahead, None)) is not None:
        item = records.item_from(records.from_bytes(line[1], line[0]), line[0])
        items[item.id, item.hash] = item
        if len(items) > LOOKED_BACK:
            del items[next(iter(items))]
