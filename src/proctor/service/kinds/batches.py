"""Files of requests as a kind of source: each line is sent as it stands, to whichever model the run is of."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from proctor.grading.kept import kept
from proctor.providers.contract import Opening, Provider
from proctor.providers.passthrough import open_passthrough
from proctor.references import BatchRef
from proctor.service.batches.growing import growing
from proctor.service.kinds.contract import Beside, Method, SourceKind
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


@contextmanager
def output_of(ref: BatchRef) -> Iterator[Beside | None]:
    """The file that grows with the replies, where one was asked for."""
    if ref.out is None:
        yield None
        return
    with growing(Path(ref.out), ref.shape) as file:
        yield file


def without_output(ref: BatchRef) -> BatchRef:
    """The file has the replies of the first run, and keeps them."""
    return replace(ref, out=None)


BATCH: SourceKind[BatchRef, BatchSource] = SourceKind(
    short="--limit 20",
    alike=requests,
    open=opened,
    method=method_of,
    beside=output_of,
    afresh=without_output,
    holds="requests",
    own=True,
    on_server=True,
)
