"""Accepted runs: what a gate holds new ones against. Each is a bundle: a file of one's own, or one kept by a name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from proctor.errors import ConfigError, Conflict, NotFound
from proctor.findings import RunResult
from proctor.service.context import Context, find
from proctor.service.data.bundle import Bundled, bundle
from proctor.service.data.counted import tally
from proctor.service.data.packed import packed_attempts, packed_runs
from proctor.service.results.results import marks, shape, shown
from proctor.service.results.speeds import with_clock
from proctor.settings import Settings
from proctor.stats.estimates import scores
from proctor.store import AttemptRow, Store
from proctor.types import Item, Run

FOLDER = "accepted"  # of PROCTOR_HOME
ENDING = ".zip"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
ID = re.compile(r"[0-9a-f]{4}[0-9a-f-]*")
UNNAMED = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class BesideStore:
    """The store's runs, with those of a bundle beside them."""

    store: Store
    rows: Mapping[str, Sequence[AttemptRow]]  # of the bundle, by run id
    items: Mapping[str, Item]  # by hash

    def latest(self, run_id: str) -> Iterator[AttemptRow]:
        return iter(self.rows[run_id]) if run_id in self.rows else self.store.latest(run_id)

    def item(self, digest: str) -> Item:
        return self.items[digest] if digest in self.items else self.store.item(digest)


@dataclass(frozen=True, slots=True)
class AcceptedRun:
    """The run that was accepted, what it shows, and where its rows are beside those of the store."""

    result: RunResult
    kept: BesideStore


def usual_name(run: Run) -> str:
    """Under which a run is accepted where nobody names it: by what was asked of whom."""
    return name_of(run.cell.source.listed, str(run.cell.model))


def name_of(source: str, model: str) -> str:
    """
    >>> name_of("my exam.jsonl", "ollama/qwen3:8b")
    'my-exam.jsonl--ollama-qwen3-8b'
    """
    return "--".join(UNNAMED.sub("-", each).strip("-.") or "-" for each in (source, model))[:100]


def place_of(word: str, settings: Settings) -> Path:
    """The file that a path or a name means, whether it is there or not. Raises: ConfigError."""
    if word.endswith(ENDING) or "/" in word:
        return Path(word)
    if not NAME.fullmatch(word):
        raise ConfigError(
            f"{word!r} is no name for an accepted run: letters, digits, and _ . - between them; or a {ENDING} file"
        )
    return settings.home / FOLDER / f"{word}{ENDING}"


def ended_run(context: Context, ident: str) -> Run:
    """The one run with this id. Raises: NotFound; ConfigError for a plan of several; Conflict for one at work."""
    runs = find(context.store, ident)
    if len(runs) > 1:
        raise ConfigError(f"{ident} is a plan of {len(runs)} runs: give the id of one")
    if runs[0].finished_at is None:
        raise Conflict(f"Run {runs[0].id[:8]} is {runs[0].status}: wait for its end")
    return runs[0]


def accept(context: Context, ident: str, word: str | None = None) -> Bundled:
    """Keep a run as the accepted one, in the place of the one that was before.

    Raises: NotFound; ConfigError for several runs, or for one that lacks outcomes; Conflict for one at work.
    """
    run = ended_run(context, ident)
    if run.cell.limits.shard is not None:
        raise ConfigError(f"Run {run.id[:8]} is one part of a run: merge the parts before it is accepted")
    if run.partial:
        raise ConfigError(
            f"Run {run.id[:8]} lacks {run.planned - run.settled:,} outcomes: `proctor resume {run.id[:8]}` before it "
            "is accepted"
        )
    path = place_of(word or usual_name(run), context.settings)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{path.parent} cannot be made: {error.strerror}") from error
    return bundle(context, [run.id], path)


def accepted_run(context: Context, word: str, model: str | None = None) -> AcceptedRun | None:
    """What a file, a name or a run's id means; None for a file or name under which nothing is kept yet.

    Of a bundle of several runs it is the one of `model`. Raises: NotFound for an id that no run has, ConfigError,
    DataError for a damaged bundle.
    """
    path = place_of(word, context.settings)
    if path.is_file():
        return _packed(context, path, model)
    if word.endswith(ENDING) or "/" in word:
        return None
    try:
        run = ended_run(context, word)
    except NotFound:
        if ID.fullmatch(word):
            raise NotFound(f"{word}: no run begins so, and no run was accepted under this name") from None
        return None
    return AcceptedRun(shown(context.store, run), BesideStore(context.store, {}, {}))


def _packed(context: Context, path: Path, model: str | None) -> AcceptedRun:
    with packed_runs(path) as (archive, runs):
        run = _only(path, runs, model)
        rows, items = [], dict[str, Item]()
        for packed in packed_attempts(archive, run):
            rows.append(packed.row)
            items.setdefault(packed.row.item_hash, packed.item)
    rows.sort(key=lambda row: (row.position, row.repeat))
    kept = BesideStore(context.store, {run.id: rows}, items)
    counts = with_clock(tally(rows), run.manifest.server_clock)
    return AcceptedRun(RunResult(run, scores(marks(kept, run), shape(run)), counts), kept)


def _only(path: Path, runs: Sequence[Run], model: str | None) -> Run:
    meant = [run for run in runs if len(runs) == 1 or str(run.cell.model) == model]
    if len(meant) != 1:
        held = ", ".join(str(run.cell.model) for run in runs)
        raise ConfigError(
            f"{path} holds several runs ({held}), {len(meant)} of them of {model}: pack one alone"
        )
    return meant[0]
