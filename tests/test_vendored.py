"""What others wrote and we ship: unmodified, with name, version and licence."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src/proctor"
VENDORED = sorted(path.parent for path in ROOT.rglob("VENDOR.md"))


def test_every_vendored_folder_says_what_it_is() -> None:
    folders = {path for vendor in ROOT.rglob("vendor") for path in vendor.iterdir() if path.is_dir()}
    assert folders == set(VENDORED)
    assert len(VENDORED) >= 5


@pytest.mark.parametrize("folder", VENDORED, ids=lambda path: path.name)
def test_the_files_are_those_that_were_taken(folder: Path) -> None:
    text = (folder / "VENDOR.md").read_text(encoding="utf-8")
    assert re.search(r"npm package `[^`]+`, version [\d.]+, licence \S+", text)
    told = dict(re.findall(r"^\| (\S+) \| ([0-9a-f]{64}) \|$", text, re.MULTILINE))
    there = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.name != "VENDOR.md"
    }
    assert told == there
