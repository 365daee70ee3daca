"""Repositories for tests, whose history holds what no task may show."""

from __future__ import annotations

import subprocess
from pathlib import Path


def commits(folder: Path) -> tuple[str, str]:
    """A repository with two commits, the second of which is the answer; their names."""
    (folder / "src").mkdir(parents=True)
    found = []
    for text in ("first", "the answer"):
        (folder / "src/code.py").write_text(text)
        (folder / "README.md").write_text(text)
        (folder / "other").mkdir(exist_ok=True)
        (folder / "other/big.txt").write_text(text)
        words = [["init", "-q"], ["add", "-A"], ["commit", "-qm", text]]
        for each in words:
            git = ["git", "-c", "user.name=t", "-c", "user.email=t@localhost", *each]
            subprocess.run(git, cwd=folder, check=True, capture_output=True)
        told = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True)
        found.append(told.stdout.decode().strip())
    return found[0], found[1]
