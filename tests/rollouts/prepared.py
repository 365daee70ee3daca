"""Prepared tasks for tests: small folders, written with what a test wants otherwise."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

META: Mapping[str, Any] = {
    "task_id": "greet",
    "metadata": {"title": "Greet", "tags": ["t"]},
    "repo": {"git_url": "", "sparse_checkout": []},
    "lm": {"instructions": "Greet by name."},
    "sensitivity": {"level": "safe"},
    "evaluation": {
        "rubrics": [
            {"id": "greets", "criterion": "It greets", "weight": 0.7, "evaluation_criteria": ["by name"]},
            {"id": "kept", "criterion": "The rest is kept", "weight": 0.3},
        ],
        "test_scripts": [
            {"path": "test_greets.py", "rubric_id": "greets"},
            {"path": "deep/test_kept.py", "rubric_id": "kept", "content": "import greeting\n"},
        ],
    },
}
FILES: Mapping[str, str] = {
    "Dockerfile": "FROM proctor-base\nWORKDIR /app/repo\n",
    "overlay_repo_files/greeting.py": 'def greet(name):\n    return "Hello!"\n',
    "overlay_repo_files/docs/a.md": "a\n",
    "overlay_repo_files/docs/b.md": "b\n",
    "overlay_files/diff.patch": "--- a/greeting.py\n+++ b/greeting.py\n",
    "overlay_files/notes.md": "The answer is easy.\n",
    "overlay_files/help.md": "Help.\n",
    "evaluation/test_greets.py": "from greeting import greet\n\nassert greet('Ada') == 'Hello, Ada!'\n",
}


def prepared(folder: Path, files: Mapping[str, str | None] = MappingProxyType({}), **meta: Any) -> Path:
    """A task's folder; `files` are written besides or in the place of the usual ones (None: not), `meta` likewise."""
    told = {key: value for key, value in {**META, **meta}.items() if value is not None}
    every: dict[str, str | None] = {"tb_meta.json": json.dumps(told), **FILES, **files}
    for name, text in every.items():
        if text is not None:
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
    return folder


def content(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, by its path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
