"""Zip archives with members packed by zstd, and those that are not what they say."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from logs_made import zipped
from proctor.errors import DataError
from proctor.interop.zips import ZipArchive

TEXT = b"nothing but words, " * 5000


def test_both_ways_of_packing_are_read(tmp_path: Path) -> None:
    with_zstd = zipped(tmp_path / "a.zip", {"a/b": TEXT, "empty": b""})
    with pytest.raises(NotImplementedError):
        zipfile.ZipFile(with_zstd).read("a/b")
    with zipfile.ZipFile(tmp_path / "b.zip", "w", zipfile.ZIP_DEFLATED) as plain:
        plain.writestr("a/b", TEXT)
        plain.writestr("empty", b"")
    for name in ("a.zip", "b.zip"):
        with ZipArchive(tmp_path / name) as archive:
            assert archive.names() == ["a/b", "empty"]
            assert (archive.read("a/b"), archive.read("empty")) == (TEXT, b"")


def test_a_member_that_was_written_again_counts_as_last_written(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as plain:
        plain.writestr("a", "old")
        with pytest.warns(UserWarning, match="Duplicate name"):
            plain.writestr("a", "new")
    with ZipArchive(tmp_path / "a.zip") as archive:
        assert archive.names() == ["a"] and archive.read("a") == b"new"


@pytest.mark.parametrize("claimed", [len(TEXT) - 1, len(TEXT) + 1, 1])
def test_a_size_that_is_not_so_is_told(tmp_path: Path, claimed: int) -> None:
    with (
        ZipArchive(zipped(tmp_path / "a.zip", {"a": TEXT}, claimed=claimed)) as archive,
        pytest.raises(DataError, match="a is damaged"),
    ):
        archive.read("a")


def test_changed_bytes_are_told(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"a": TEXT})
    good = path.read_bytes()
    for place in range(35, good.index(b"PK\x01\x02")):  # every byte of the packed member
        path.write_bytes(good[:place] + bytes([good[place] ^ 0x55]) + good[place + 1 :])
        with ZipArchive(path) as archive, pytest.raises(DataError, match="a is damaged"):
            archive.read("a")


def test_what_is_missing_too_large_or_no_archive_is_told(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"a": TEXT, "b": TEXT})
    with ZipArchive(path, member_bytes=len(TEXT) - 1) as archive:
        with pytest.raises(DataError, match="a would unpack to 95,000 bytes"):
            archive.read("a")
        with pytest.raises(DataError, match="c is missing"):
            archive.read("c")
    with ZipArchive(path, whole_bytes=len(TEXT)) as archive:
        assert archive.read("a") == TEXT
        with pytest.raises(DataError, match="b would unpack"):
            archive.read("b")
    (tmp_path / "x").write_text("no zip")
    with pytest.raises(DataError, match="not a readable zip archive"):
        ZipArchive(tmp_path / "x")


def test_a_member_under_a_password_is_told(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as plain:
        plain.writestr("a", "secret")
    raw = bytearray((tmp_path / "a.zip").read_bytes())
    raw[6] |= 1  # the flag in the member's own header
    raw[raw.index(b"PK\x01\x02") + 8] |= 1  # and in the directory
    (tmp_path / "a.zip").write_bytes(raw)
    with ZipArchive(tmp_path / "a.zip") as archive, pytest.raises(DataError, match="a is damaged"):
        archive.read("a")
