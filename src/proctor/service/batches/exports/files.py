"""Exports as files and as streams of bytes, with the manifest that stands beside them."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from proctor.errors import ConfigError
from proctor.service.batches import documents, labels
from proctor.service.batches.exports.rows import ExportCounts, ExportWish, pieces, write_parquet
from proctor.service.context import Context
from proctor.types import Run

CHUNK_BYTES = 2**17
ENDINGS = {"csv": "csv", "parquet": "parquet"}


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written: the export, its held-out share if one was asked for, and the manifest."""

    path: Path
    manifest: Path
    held_out: Path | None
    counts: ExportCounts


def chunks(
    context: Context, runs: Sequence[Run], wish: ExportWish, *, held_out: bool = False
) -> Iterator[bytes]:
    """The export's bytes in pieces of some size, in constant memory: the part to train on, or that held out."""
    if wish.form == "parquet":
        yield from _parquet_chunks(context, runs, wish)
        return
    waiting, size = list[bytes](), 0
    for piece in pieces(context, runs, wish):
        if piece.held_out is held_out:
            waiting.append(piece.line)
            size += len(piece.line)
        if size >= CHUNK_BYTES:
            yield b"".join(waiting)
            waiting, size = [], 0
    yield b"".join(waiting)


def _parquet_chunks(context: Context, runs: Sequence[Run], wish: ExportWish) -> Iterator[bytes]:
    with tempfile.TemporaryFile(dir=context.settings.home) as file:
        write_parquet(context, runs, wish, file, ExportCounts())
        file.seek(0)
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def file_name(runs: Sequence[Run], wish: ExportWish, *, held_out: bool = False) -> str:
    """What the export is called: by its runs, since names of files are their users' words."""
    which = "-".join(run.id[:8] for run in runs[:3])
    kind = {"jsonl": "results", "csv": "results", "parquet": "results"}.get(wish.form, wish.form)
    return f"{kind}-{which}{'-hold-out' if held_out else ''}.{ENDINGS.get(wish.form, 'jsonl')}"


def write(context: Context, runs: Sequence[Run], wish: ExportWish, path: Path) -> Exported:
    """Write the export, the share that is held out beside it, and the manifest, each whole or not at all.

    Raises ConfigError for what cannot be meant or written, NotFound.
    """
    wish, counts = wish.checked(), ExportCounts()
    beside = path.with_name(f"{path.stem}.hold-out{path.suffix}") if wish.hold_out else None
    told = path.with_name(f"{path.name}.manifest.json")
    try:
        with ExitStack() as stack:
            out = stack.enter_context(_whole(path))
            other = stack.enter_context(_whole(beside)) if beside else None
            _fill(context, runs, wish, counts, (out, other))
        document = {**manifest_of(context, runs, wish, counts), "file": path.name, "sha256": _sha256(path)}
        with _whole(told) as file:
            file.write(orjson.dumps(document, option=orjson.OPT_INDENT_2) + b"\n")
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    return Exported(path, told, beside, counts)


def _fill(
    context: Context,
    runs: Sequence[Run],
    wish: ExportWish,
    counts: ExportCounts,
    files: tuple[BinaryIO, BinaryIO | None],
) -> None:
    out, other = files
    if wish.form == "parquet":
        write_parquet(context, runs, wish, out, counts)
        return
    for piece in pieces(context, runs, wish, counts):
        (other if piece.held_out and other is not None else out).write(piece.line)


class _whole:
    """A file that has its name only when it is written to the end."""

    def __init__(self, path: Path) -> None:
        self._path, self._part = path, path.with_name(f".{path.name}.part")

    def __enter__(self) -> BinaryIO:
        self._file = self._part.open("wb")
        return self._file

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._file.close()
        if kind is None:
            self._part.replace(self._path)
        else:
            self._part.unlink(missing_ok=True)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def manifest(context: Context, runs: Sequence[Run], wish: ExportWish) -> dict[str, Any]:
    """What an export would be made of; it is made once, and thrown away. Raises ConfigError, NotFound."""
    counts = ExportCounts()
    for _ in pieces(context, runs, wish, counts):
        pass
    return manifest_of(context, runs, wish, counts)


def manifest_of(
    context: Context, runs: Sequence[Run], wish: ExportWish, counts: ExportCounts
) -> dict[str, Any]:
    labelled = [(run, labels.counts(context, run.id)) for run in runs]
    return documents.manifest_document(labelled, wish, counts)
