"""Where parts of a run are found, in another PROCTOR_HOME, a bundle or this store, and how what they hold is had."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from proctor.errors import ConfigError, DataError, NotFound
from proctor.service.context import Context, dead_owner, find
from proctor.service.data.packed import packed_attempts, packed_runs
from proctor.service.data.said import packed, rows_from
from proctor.service.data.shared_parts import WORD, fetched_bundles
from proctor.service.data.unpack import BundleArchive
from proctor.store import AttemptRow, AttemptWriter, Store
from proctor.store.read.tried import SETTLED, tried
from proctor.store.write import further
from proctor.store.write.copied import Claimed, copy_attempts
from proctor.store.write.further import Further
from proctor.types import Item, Run, Shard, Status

DATABASE = "proctor.db"
QUEUED = 4_000  # attempts on their way to the disk; more would lie in memory


class PartKept(Protocol):
    """Where a part is kept."""

    def rows(self, run: Run) -> Iterator[AttemptRow]:
        """The attempts that count, by position and repeat."""

    def give(self, run: Run, into: Claimed) -> None:
        """Have all its attempts in the claimed run; those that are there already stay as they are."""

    def tell(self, run: Run, which: Further) -> Iterator[dict[str, Any]]:
        """What was said of its replies once they were kept, as rows."""


@dataclass(frozen=True, slots=True)
class PartFound:
    """A run that is a part of a whole, and where it was found."""

    run: Run
    shard: Shard
    where: str  # as it was named
    kept: PartKept
    home: Path | None = None  # the PROCTOR_HOME that has its files, where there is one

    def __str__(self) -> str:
        return f"shard {self.shard} (run {self.run.id[:8]} of {self.where})"

    def rows(self) -> Iterator[AttemptRow]:
        """Raises: DataError for an attempt that is another part's."""
        for row in self.kept.rows(self.run):
            if not self.shard.holds(row.position, row.repeat):
                raise DataError(f"{self}: item {row.item_id} is not of this shard; it was changed since")
            yield row


@contextmanager
def found_in(context: Context, words: Sequence[str]) -> Iterator[list[PartFound]]:
    """The parts that folders, bundles, names of shared bundles and ids of runs name, open as long as the block lasts.

    Raises: DataError for what is no PROCTOR_HOME and no bundle, or has no parts; ConfigError, NotFound, StoreError.
    """
    with ExitStack() as held:
        found: list[PartFound] = []
        for word in dict.fromkeys(words):
            parts = _named(context, word, held)
            if not parts:
                raise DataError(
                    f"{word}: there is no run of a part in it (`proctor run --shard I/N` asks one)"
                )
            found += parts
        yield found


def _named(context: Context, word: str, held: ExitStack) -> list[PartFound]:
    if word.startswith(WORD):
        folder = Path(held.enter_context(TemporaryDirectory(prefix="proctor-parts-")))
        return [
            part for path in fetched_bundles(context, word, folder) for part in _of_bundle(path, word, held)
        ]
    path = Path(word)
    if path.is_dir():
        return _of_home(path, held)
    if path.is_file():
        return _of_bundle(path, word, held)
    try:
        runs = find(context.store, word)
    except (NotFound, ConfigError) as error:
        raise NotFound(f"{word}: no PROCTOR_HOME, no bundle, and no run of this store ({error})") from error
    if whole := [run for run in runs if run.cell.limits.shard is None]:
        raise ConfigError(f"Run {whole[0].id[:8]} is no part: it was asked whole, without --shard")
    return _parts(runs, "this store", _InStore(context.store), context.settings.home)


def _of_bundle(path: Path, word: str, held: ExitStack) -> list[PartFound]:
    archive, packed = held.enter_context(packed_runs(path))
    return _parts(packed, word, _InBundle(archive))


def _of_home(home: Path, held: ExitStack) -> list[PartFound]:
    if not (home / DATABASE).is_file():
        raise DataError(
            f"{home}: there is no {DATABASE} in it. Name the PROCTOR_HOME in which a part was asked"
        )
    store = Store.open_to_read(home / DATABASE)
    held.callback(store.close)
    return _parts(store.runs(limit=None)[::-1], str(home), _InStore(store), home)


def _parts(runs: Sequence[Run], where: str, kept: PartKept, home: Path | None = None) -> list[PartFound]:
    return [
        PartFound(run, run.cell.limits.shard, where, kept, home)
        for run in runs
        if run.cell.limits.shard is not None
    ]


@dataclass(frozen=True, slots=True)
class _InStore:
    store: Store

    def rows(self, run: Run) -> Iterator[AttemptRow]:
        return self.store.latest(run.id)

    def give(self, run: Run, into: Claimed) -> None:
        copy_attempts(into, self.store, run.id)

    def tell(self, run: Run, which: Further) -> Iterator[dict[str, Any]]:
        return further.rows(self.store, run.id, which)


def at_work(part: PartFound) -> bool:
    """Whether a process that lives is still asking it, as far as can be seen from here."""
    kept = part.kept
    if part.run.status is not Status.RUNNING or not isinstance(kept, _InStore):
        return False
    return dead_owner(kept.store, part.run.id) is None


@dataclass(frozen=True, slots=True)
class _InBundle:
    archive: BundleArchive

    def rows(self, run: Run) -> Iterator[AttemptRow]:
        return (each.row for each in packed_attempts(self.archive, run))

    def give(self, run: Run, into: Claimed) -> None:
        known = tried(into.store, into.run_id)
        writer = AttemptWriter(into.store, into.run_id, owner=into.owner, lease_s=into.lease_s, timed=False)
        try:
            for each in packed_attempts(self.archive, run):
                state = known.look(each.row.item_id, each.row.repeat)
                if state == SETTLED or state > each.row.attempt:
                    continue  # an earlier merge that broke off has kept it
                writer.keep(each.attempt(self._shown(into.store, each.item)))
                while writer.backlog > QUEUED:
                    time.sleep(
                        0.001
                    )  # until the disk has caught up, so that the lines are never all in memory
        finally:
            writer.close()

    def tell(self, run: Run, which: Further) -> Iterator[dict[str, Any]]:
        return rows_from(packed(self.archive, run.id, which), which)

    def _shown(self, store: Store, item: Item) -> Item:
        """The item with what the model was shown: of a bundle without questions, from this store if it knows it."""
        if item.ask.messages:
            return item
        try:
            return replace(item, ask=store.item(item.hash).ask)
        except NotFound:
            raise DataError(
                f"{self.archive.path}: it holds no questions, and item {item.id} is not known here. Pack it with "
                "`proctor bundle --prompts`, or name the PROCTOR_HOME of the part"
            ) from None
