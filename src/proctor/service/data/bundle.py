"""`proctor bundle`: runs packed with everything that their figures can be checked with, as one zip file."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from proctor import __version__
from proctor.errors import ConfigError, Conflict
from proctor.providers.wire.http import LEAST_SECRET_CHARACTERS
from proctor.service.context import Context, find
from proctor.service.data import records, said
from proctor.service.data.records import FORMAT, Snapshot
from proctor.service.data.tried import record_of, tried_there
from proctor.service.kinds import kind_of
from proctor.service.results import documents
from proctor.service.results.answer_kinds import row_labels
from proctor.service.results.results import shown
from proctor.settings import Settings
from proctor.store import AttemptRow, Store
from proctor.types import Outcome, Run, Usage

MEMBER_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip file can say: the same run gives the same bytes
MEMBER_MODE = 0o100644 << 16

ABOUT = """\
A bundle of proctor: model replies, how each was read, and every figure that follows from them.

To check it: `proctor verify FILE`, on any machine, without network or database. Every kept reply is read
again and every figure recomputed; the first that differs is named. Without proctor: unpack it and run
`sha256sum -c SHA256SUMS`; items.jsonl and replies.jsonl hold one JSON object a line, with target, answer
and score, so that accuracies can be counted by hand. Questions are left out unless they were packed on
purpose, because data sets have licences; grades.jsonl and labels.jsonl, where there are any, hold what further
graders, judges and people said of the replies, people by the names that they gave. Each item has the
hash of what was asked, and `proctor verify FILE --rows` compares it where the rows are present. Who altered
replies, answers and figures alike could pack a bundle that verifies: compare the SHA-256 of this file with
the one its makers published.
"""


@dataclass(frozen=True, slots=True)
class Bundled:
    """A bundle that was written. `stale` names runs whose kept scores this version of proctor computes otherwise."""

    path: Path
    sha256: str
    size_bytes: int
    runs: int
    replies: int
    stale: tuple[str, ...] = ()


def bundle(context: Context, ids: Sequence[str], path: Path, *, prompts: bool = False) -> Bundled:
    """Pack runs into one zip file at `path`; what was there stays when it fails.

    Raises: NotFound; Conflict for a run that has not ended; ConfigError for runs that cannot be compared,
    for a secret among what is to be packed, or a path that cannot be written.
    """
    part = path.with_name(f"{path.name}.part")
    store = context.store
    runs = _ended([run for ident in ids for run in find(store, ident)])
    kept = Snapshot({run.id: _rows(store, run) for run in runs}, store.item)
    runs = [replace(run, settled=_settled(kept, run)) for run in runs]
    tried = tried_there(store, [shown(store, run) for run in runs])
    found = records.recomputed(kept, runs, tried)
    results = records.results_document(found, None if tried is None else record_of(tried))
    for run, record in zip(runs, results["runs"], strict=True):
        record |= said.figures(kept, run, said.given(store, run.id))
    heads = [_head(run, context.settings) for run in runs]
    content = _Content(store, kept, tuple(runs), heads, results, prompts)
    try:
        _write(part, content, context.settings)
        sha256, size_bytes = _digest(part), part.stat().st_size
        part.replace(path)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}. Name a file that can be written") from error
    finally:
        part.unlink(missing_ok=True)
    stale = _stale(store, runs, results)
    return Bundled(path, sha256, size_bytes, len(runs), sum(map(len, kept.rows.values())), stale)


def _ended(runs: Sequence[Run]) -> list[Run]:
    """Each run once. Raises Conflict."""
    for run in runs:
        if run.finished_at is None:
            raise Conflict(
                f"Run {run.id[:8]} is {run.status}: a bundle is made of runs that have ended. Wait for its end, or "
                f"`proctor resume {run.id[:8]}` if nothing works on it any more"
            )
    return list({run.id: run for run in runs}.values())


def _rows(store: Store, run: Run) -> list[AttemptRow]:
    """The attempts that count, each with what others at the same item and repeat have cost besides."""
    replaced = store.replaced(run.id)
    return [
        _with_unused(row, replaced[key]) if (key := (row.item_id, row.repeat)) in replaced else row
        for row in store.latest(run.id)
    ]


def _with_unused(row: AttemptRow, more: Usage) -> AttemptRow:
    unused = Usage(row.unused_input_tokens, row.unused_output_tokens, row.unused_cost_usd) + more
    return replace(
        row,
        unused_input_tokens=unused.input_tokens,
        unused_output_tokens=unused.output_tokens,
        unused_cost_usd=unused.cost_usd,
    )


def _settled(kept: Snapshot, run: Run) -> int:
    return sum(row.outcome is not Outcome.ERROR for row in kept.rows[run.id])


def _stale(store: Store, runs: Sequence[Run], results: Mapping[str, Any]) -> tuple[str, ...]:
    """The runs of which `proctor show` has other scores, kept when an older version computed them."""
    stale = []
    for run, fresh in zip(runs, results["runs"], strict=True):
        shown = [documents.score(score) for score in store.scores(run.id)]
        if shown and any(records.differing(shown, fresh["scores"], "")):
            stale.append(run.id)
    return tuple(stale)


def _head(run: Run, settings: Settings) -> bytes:
    return records.to_bytes(records.run_record(run, row_labels(run, settings)), indent=True)


# Members -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Content:
    """What goes into a bundle, in its order."""

    store: Store
    kept: Snapshot
    runs: tuple[Run, ...]
    heads: Sequence[bytes]  # each run's manifest.json
    results: Mapping[str, Any]
    prompts: bool

    def members(self) -> Iterator[tuple[str, Iterable[bytes]]]:
        """Names and bytes, piece by piece: replies may be larger than memory."""
        head = {"format": FORMAT, "proctor": __version__, "runs": [run.id for run in self.runs]}
        yield records.README, [ABOUT.encode()]
        yield records.HEAD, [records.to_bytes(head, indent=True)]
        yield records.RESULTS, [records.to_bytes(self.results, indent=True)]
        for run, manifest in zip(self.runs, self.heads, strict=True):
            folder = records.folder(run.id)
            yield f"{folder}/{records.MANIFEST}", [manifest]
            yield f"{folder}/{records.ITEMS}", self._items(run)
            yield f"{folder}/{records.REPLIES}", self._replies(run)
            for member, which in said.MEMBERS.items():
                told = said.of_replies(said.records_of(self.store, run.id, which), self.kept.rows[run.id])
                if (first := next(told, None)) is not None:
                    yield f"{folder}/{member}", map(records.to_line, chain([first], told))

    def _items(self, run: Run) -> Iterator[bytes]:
        seen = set()
        for row in self.kept.rows[run.id]:
            if (row.item_id, row.item_hash) not in seen:
                seen.add((row.item_id, row.item_hash))
                item = self.store.item(row.item_hash)
                yield records.to_line(records.item_record(row, item, prompt=self.prompts))

    def _replies(self, run: Run) -> Iterator[bytes]:
        trial = kind_of(run.cell.source).holds == "tasks"
        for row in self.kept.rows[run.id]:
            said = self.store.payload(run.id, row.item_id, row.repeat, row.attempt)
            yield records.to_line(records.reply_record(row, said, trial=trial))


def _write(path: Path, content: _Content, settings: Settings) -> None:
    secrets = _forms(settings.secrets)
    sums = []
    with zipfile.ZipFile(path, "w") as archive:
        for name, pieces in content.members():
            digest = hashlib.sha256()
            with archive.open(_entry(name), "w", force_zip64=True) as out:
                for piece in pieces:
                    _check_open(piece, secrets, name)
                    digest.update(piece)
                    out.write(piece)
            sums.append(f"{digest.hexdigest()}  {name}\n")
        with archive.open(_entry(records.SUMS), "w") as out:
            out.write("".join(sums).encode())


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, MEMBER_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3  # Unix, wherever it is made
    entry.external_attr = MEMBER_MODE
    return entry


def _forms(secrets: Iterable[str]) -> list[bytes]:
    """Each secret as it stands, and as JSON would write it. Placeholders such as EMPTY are no secrets."""
    true = [secret for secret in secrets if len(secret) >= LEAST_SECRET_CHARACTERS]
    return [form for secret in true for form in {secret.encode(), records.to_bytes({"": secret})[5:-2]}]


def _check_open(piece: bytes, secrets: Iterable[bytes], name: str) -> None:
    """Raises ConfigError if a secret stands in the piece."""
    if not any(secret in piece for secret in secrets):
        return
    record = records.from_bytes(piece, name) if name.endswith(".jsonl") else {}
    which = record.get("item") or record.get("id")
    raise ConfigError(
        f"{name}{f', item {which}' if which else ''} holds the value of a key that is set in the environment: no "
        "bundle was written. Withdraw the key, unset it, and pack again"
    )


def _digest(path: Path) -> str:
    with path.open("rb") as packed_file:
        return hashlib.file_digest(packed_file, "sha256").hexdigest()
