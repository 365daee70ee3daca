"""Reading a bundle's zip file: bounded, checked against its list of sums, and never unpacked to disk."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from proctor.errors import DataError
from proctor.service.data import records

CHUNK_BYTES = 1 << 20
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
ENCRYPTED = 1  # a flag of a member


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a bundle may unpack to: a small file can hold more zeros than any disk."""

    all_bytes: int = 4 << 30
    line_bytes: int = 64 << 20  # a line, or a member that is no list of lines
    lines: int = 2_000_000  # of one member
    members: int = 10_000


BOUNDS = Bounds()


@dataclass(frozen=True, slots=True)
class BundleArchive:
    """An open bundle. Everything raises DataError where the zip file is damaged."""

    path: Path
    file: zipfile.ZipFile
    bounds: Bounds

    @property
    def names(self) -> list[str]:
        return [entry.filename for entry in self.file.infolist()]

    def content(self, name: str) -> bytes:
        with self._reading(name) as source:
            body = source.read(self.bounds.line_bytes + 1)
        return self._bounded(body, name)

    def lines(self, name: str) -> Iterator[tuple[str, bytes]]:
        """Each line with what to call it in a message."""
        with self._reading(name) as source:
            for number in range(1, self.bounds.lines + 1):
                line = source.readline(self.bounds.line_bytes + 1)
                if not line:
                    return
                where = f"{name} line {number}"
                yield where, self._bounded(line, where)
        raise DataError(
            f"{self.path.name}: {name} has more than {self.bounds.lines:,} lines; none is read further"
        )

    def sha256(self, name: str) -> str:
        digest = hashlib.sha256()
        with self._reading(name) as source:
            while chunk := source.read(CHUNK_BYTES):
                digest.update(chunk)
        return digest.hexdigest()

    def _bounded(self, body: bytes, where: str) -> bytes:
        if len(body) > self.bounds.line_bytes:
            raise DataError(f"{self.path.name}: {where} is longer than {self.bounds.line_bytes:,} bytes")
        return body

    @contextmanager
    def _reading(self, name: str) -> Iterator[zipfile.ZipExtFile]:
        try:
            # Never more than the size that its entry states, which the bound on all members counts.
            with self.file.open(name) as source:
                yield source  # type: ignore[misc]  # IO[bytes] to typeshed
        except KeyError:
            raise DataError(f"{self.path.name}: there is no {name} in it") from None
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError) as error:
            raise DataError(f"{self.path.name}: {name} is damaged ({error}). Fetch the file again") from None


@contextmanager
def opened(path: Path, bounds: Bounds = BOUNDS) -> Iterator[BundleArchive]:
    """Raises DataError for what is no bundle, or too large a one."""
    try:
        file = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, EOFError) as error:
        raise DataError(f"{path}: not a zip file, or a damaged one ({error})") from None
    except OSError as error:
        raise DataError(
            f"{path}: {error.strerror or error}. Name a file that `proctor bundle` wrote"
        ) from None
    with file:
        archive = BundleArchive(path, file, bounds)
        _check_entries(archive)
        yield archive


def _check_entries(archive: BundleArchive) -> None:
    entries, name = archive.file.infolist(), archive.path.name
    if len({entry.filename for entry in entries}) < len(entries):
        raise DataError(f"{name}: two of its members have the same name")
    if missing := {records.HEAD, records.SUMS} - {entry.filename for entry in entries}:
        raise DataError(f"{name}: no bundle of proctor, for there is no {sorted(missing)[0]} in it")
    if any(entry.compress_type not in METHODS or entry.flag_bits & ENCRYPTED for entry in entries):
        raise DataError(f"{name}: its members are encrypted or packed in a way that bundles never are")
    size = sum(entry.file_size for entry in entries)
    if size > archive.bounds.all_bytes or len(entries) > archive.bounds.members:
        raise DataError(
            f"{name}: {len(entries):,} members of {size:,} bytes, more than the {archive.bounds.members:,} of "
            f"{archive.bounds.all_bytes:,} that are unpacked"
        )


def run_ids(archive: BundleArchive) -> tuple[str, Sequence[str]]:
    """The version of proctor that wrote the bundle, and its runs in order. Raises DataError for a newer format."""
    head = records.from_bytes(archive.content(records.HEAD), records.HEAD)
    form = head.get("format")
    if not isinstance(form, int) or form < 1:
        raise DataError(f"{archive.path.name}: {records.HEAD} does not say which format it has")
    if form > records.FORMAT:
        raise DataError(
            f"{archive.path.name}: a bundle of format {form}, written by proctor {head.get('proctor')}; this version "
            f"reads up to format {records.FORMAT}. Install that version"
        )
    records.checked(head, {"format": (int,), "proctor": (str,), "runs": (list,)}, records.HEAD)
    ids = head["runs"]
    if not ids or len(set(map(str, ids))) < len(ids) or not all(isinstance(each, str) for each in ids):
        raise DataError(f"{archive.path.name}: {records.HEAD} must list runs, each once")
    return head["proctor"], ids


def sum_faults(archive: BundleArchive) -> Iterator[str]:
    """What is wrong with the members, by SHA256SUMS: changed, missing, not listed."""
    told: dict[str, str] = {}
    for where, line in archive.lines(records.SUMS):
        digest, gap, name = line.decode("utf-8", "replace").rstrip("\n").partition("  ")
        if not gap or len(digest) != 64:
            raise DataError(f"{where}: expected a SHA-256, two spaces and a name")
        told[name] = digest
    names = set(archive.names)
    for name, digest in told.items():
        if name not in names:
            yield f"{name} is listed in {records.SUMS} but missing"
        elif archive.sha256(name) != digest:
            yield f"{name} has another SHA-256 than {records.SUMS} says"
    for name in sorted(names - told.keys() - {records.SUMS}):
        yield f"{name!r} is not listed in {records.SUMS}"
