"""Files of requests as a kind of source: each line is sent as it stands, to whichever model the run is of."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path

from proctor.grading.kept import kept
from proctor.providers.contract import Opening, Provider
from proctor.providers.passthrough import open_passthrough
from proctor.references import BatchRef
from proctor.service.kinds.contract import Method, SourceKind
from proctor.settings import Settings
from proctor.sources.batches.source import BatchSource, open_batch
from proctor.types import Cell


def path_of(ref: BatchRef, settings: Settings) -> Path:
    """Where the file of a reference is on this machine: its own place, or that of an upload, by its hash."""
    return Path(ref.name) if ref.content is None else settings.home / "data" / "datasets" / ref.content


def opened(ref: BatchRef, settings: Settings) -> BatchSource:
    return open_batch(ref, path_of(ref, settings))


def method_of(_source: BatchSource) -> Method:
    return Method(kept, opener=passed_through)


def passed_through(cell: Cell, opening: Opening) -> Provider:
    assert isinstance(cell.source, BatchRef)
    return open_passthrough(cell.model, opening, stream=cell.source.stream)


def requests(ref: BatchRef) -> Hashable:
    return ref.name, ref.content


BATCH: SourceKind[BatchRef, BatchSource] = SourceKind(
    short="--limit 20",
    alike=requests,
    open=opened,
    method=method_of,
    holds="requests",
    own=True,
    on_server=True,
)
