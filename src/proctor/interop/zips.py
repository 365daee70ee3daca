"""Members of a zip archive, also those packed with zstd (method 93), which the standard library cannot read."""

from __future__ import annotations

import struct
import zipfile
import zlib
from pathlib import Path
from typing import Self

import zstandard

from proctor.interop.logs import wrong

ZSTD = 93
# What a log may unpack to: far more than real ones do, far less than an archive made to fill a disk.
MEMBER_BYTES = 1_000_000_000
WHOLE_BYTES = 20_000_000_000
LOCAL_HEADER = struct.Struct("<4s5H3I2H")

# What the readers raise on bytes that are not what their headers say.
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    zstandard.ZstdError,
    struct.error,
    NotImplementedError,  # an unknown method of packing
    RuntimeError,  # a password is needed
    OSError,
    EOFError,
)


class ZipArchive:
    """An open zip archive. Raises DataError where it is damaged, or a member is larger than anybody means."""

    def __init__(
        self, path: Path, *, member_bytes: int = MEMBER_BYTES, whole_bytes: int = WHOLE_BYTES
    ) -> None:
        self.path = path
        self._member_bytes = member_bytes
        self._left_bytes = whole_bytes
        try:
            self._zip = zipfile.ZipFile(path)
        except DAMAGE as error:
            raise wrong(path, f"not a readable zip archive ({error})") from error
        # A member that was written again stands twice; the later one counts.
        self._members = {info.filename: info for info in self._zip.infolist()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def names(self) -> list[str]:
        return list(self._members)

    def read(self, name: str) -> bytes:
        info = self._members.get(name)
        if info is None:
            raise wrong(self.path, f"{name} is missing")
        self._left_bytes -= info.file_size
        if info.file_size > self._member_bytes or self._left_bytes < 0:
            raise wrong(self.path, f"{name} would unpack to {info.file_size:,} bytes: too large to be taken")
        try:
            return self._zstd(info) if info.compress_type == ZSTD else self._zip.read(info)
        except DAMAGE as error:
            raise wrong(self.path, f"{name} is damaged ({error})") from error

    def _zstd(self, info: zipfile.ZipInfo) -> bytes:
        """The local header says where the packed bytes begin: its name and extra field may differ in length."""
        with self.path.open("rb") as file:
            file.seek(info.header_offset)
            header = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
            file.seek(header[9] + header[10], 1)
            packed = file.read(info.compress_size)
        # One byte more than announced, so that a member that lies about its size is never unpacked whole.
        with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as reader:
            unpacked = reader.read(info.file_size + 1)
        if len(unpacked) != info.file_size or zlib.crc32(unpacked) != info.CRC:
            raise zipfile.BadZipFile("size or checksum are not those announced")
        return unpacked
