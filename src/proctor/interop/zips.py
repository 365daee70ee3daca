"""Members of a zip archive, also those packed with zstd (method 93), which the standard library cannot read."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

import zstandard

from proctor.interop.logs import wrong

ZSTD = 93
MOST_BYTES = 2_000_000_000  # of one member, unpacked
LOCAL_HEADER = struct.Struct("<4s5H3I2H")


class Archive:
    """An open zip archive. Raises DataError where it is damaged, or a member is larger than anybody means."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError) as error:
            raise wrong(path, f"not a readable zip archive ({error})") from error
        self._members = {info.filename: info for info in self._zip.infolist()}

    def close(self) -> None:
        self._zip.close()

    def names(self) -> list[str]:
        return list(self._members)

    def read(self, name: str) -> bytes:
        info = self._members.get(name)
        if info is None:
            raise wrong(self.path, f"{name} is missing")
        if info.file_size > MOST_BYTES:
            raise wrong(self.path, f"{name} would unpack to {info.file_size:,} bytes")
        try:
            if info.compress_type == ZSTD:
                return self._zstd(info)
            return self._zip.read(info)
        except (zipfile.BadZipFile, zstandard.ZstdError, NotImplementedError, OSError, EOFError) as error:
            raise wrong(self.path, f"{name} is damaged ({error})") from error

    def _zstd(self, info: zipfile.ZipInfo) -> bytes:
        """The local header says where the packed bytes begin: its name and extra field may differ in length."""
        with self.path.open("rb") as file:
            file.seek(info.header_offset)
            header = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
            file.seek(header[9] + header[10], 1)
            packed = file.read(info.compress_size)
        unpacked = zstandard.ZstdDecompressor().decompressobj().decompress(packed)
        if len(unpacked) != info.file_size:
            raise wrong(
                self.path, f"{info.filename} has {len(unpacked):,} bytes instead of {info.file_size:,}"
            )
        return unpacked
