"""An upload as it comes: a form whose files go to the disk piece by piece, each written once and hashed on the way.

Starlette's own reading of forms would write a file to the system's folder of temporary files, which may be memory,
and it would be written a second time to where it is kept.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header

from proctor.errors import ConfigError
from proctor.service.datasets.names import plain_name
from proctor.settings import Settings
from proctor.store.datasets import shelf
from proctor.store.datasets.shelf import Arrival

MOST_FIELDS = 50
FIELD_BYTES = 100_000
COPIED_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class Arrived:
    """A file that has come whole: what its sender calls it, where it lies for now, the SHA-256 of its bytes."""

    filename: str
    path: Path
    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Upload:
    """A form: its files, and its fields by name; a field that came twice is a list of lines."""

    files: tuple[Arrived, ...]
    fields: dict[str, str]


@asynccontextmanager
async def received(
    pieces: AsyncIterator[bytes], content_type: str, settings: Settings, *, most_files: int = 1
) -> AsyncIterator[Upload]:
    """The form, once all of it is on the disk; what was not kept by the end of the block is deleted.

    Raises: ConfigError for what is no such form, DiskFull.
    """
    kind, options = parse_options_header(content_type)
    boundary = options.get(b"boundary")
    if kind != b"multipart/form-data" or not boundary:
        raise ConfigError("Send the file as a form: multipart/form-data with a field `file`")
    with ExitStack() as stack:
        form = _Form(settings, stack, most_files)
        parser = MultipartParser(boundary, form.callbacks())  # type: ignore[arg-type]  # a TypedDict of its own
        try:
            async for piece in pieces:
                parser.write(piece)
            parser.finalize()
        except FormParserError as error:
            raise ConfigError(f"The form cannot be read: {error}") from None
        if not form.ended:
            raise ConfigError("The form breaks off before its end")
        yield Upload(tuple(form.settled()), {name: "\n".join(said) for name, said in form.fields.items()})


def check_room(settings: Settings, length: str | None) -> None:
    """Raises: DiskFull before anything has come, where a length is told and there is no room for it."""
    if length is not None and length.isascii() and length.isdecimal():
        shelf.check_room(settings, int(length))


@contextmanager
def copied(path: Path, settings: Settings) -> Iterator[Arrived]:
    """A file of this machine as if it had been uploaded. Raises: DiskFull, OSError."""
    with path.open("rb") as file, shelf.arriving(settings) as room:
        yield _copied(file, path.name, room)


def _copied(file: BinaryIO, name: str, room: Arrival) -> Arrived:
    while piece := file.read(COPIED_BYTES):
        room.write(piece)
    room.settle()
    return Arrived(plain_name(name), room.path, room.sha256, room.size)


@dataclass(slots=True)
class _Form:
    """What the parser of multipart forms tells, put where it belongs."""

    settings: Settings
    stack: ExitStack
    most_files: int
    fields: dict[str, list[str]] = field(default_factory=dict)
    rooms: list[tuple[str, Arrival]] = field(default_factory=list)
    ended: bool = False
    _header: tuple[bytearray, bytearray] = field(default_factory=lambda: (bytearray(), bytearray()))
    _disposition: bytes = b""
    _name: str = ""
    _room: Arrival | None = None
    _text: bytearray = field(default_factory=bytearray)

    def callbacks(self) -> dict[str, object]:
        return {
            "on_part_begin": self.begin,
            "on_header_field": lambda data, start, end: self._header[0].extend(data[start:end]),
            "on_header_value": lambda data, start, end: self._header[1].extend(data[start:end]),
            "on_header_end": self.header,
            "on_headers_finished": self.headed,
            "on_part_data": self.data,
            "on_part_end": self.end,
            "on_end": self.over,
        }

    def begin(self) -> None:
        self._disposition, self._room, self._text = b"", None, bytearray()

    def header(self) -> None:
        name, value = self._header
        if name.lower() == b"content-disposition":
            self._disposition = bytes(value)
        name.clear()
        value.clear()

    def headed(self) -> None:
        """Raises: ConfigError, DiskFull."""
        _, options = parse_options_header(self._disposition)
        self._name = options.get(b"name", b"").decode("utf-8", "replace")
        if b"filename" not in options:
            if len(self.fields) >= MOST_FIELDS:
                raise ConfigError(f"The form has more than {MOST_FIELDS} fields")
            return
        if len(self.rooms) >= self.most_files or self._name != "file":
            raise ConfigError(f"Give up to {self.most_files} files, each in a field `file`")
        called = plain_name(options[b"filename"].decode("utf-8", "replace"))
        self._room = self.stack.enter_context(shelf.arriving(self.settings))
        self.rooms.append((called, self._room))

    def data(self, data: bytes, start: int, end: int) -> None:
        """Raises: ConfigError, DiskFull."""
        if self._room is not None:
            self._room.write(data[start:end])
            return
        self._text += data[start:end]
        if len(self._text) > FIELD_BYTES:
            raise ConfigError(f"The field {self._name[:40]!r} has more than {FIELD_BYTES:,} bytes")

    def end(self) -> None:
        """Raises: ConfigError."""
        if self._room is not None:
            return
        try:
            said = self._text.decode()
        except UnicodeDecodeError:
            raise ConfigError(f"The field {self._name[:40]!r} is no text in UTF-8") from None
        self.fields.setdefault(self._name, []).append(said)

    def over(self) -> None:
        self.ended = True

    def settled(self) -> Iterator[Arrived]:
        for called, room in self.rooms:
            room.settle()
            yield Arrived(called, room.path, room.sha256, room.size)
