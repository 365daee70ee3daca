"""A prepared task: a folder with `tb_meta.json`, the repository's files, an instruction, and what verifies the work."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proctor.errors import DataError

META = "tb_meta.json"
REPO = "overlay_repo_files"
OVERLAY = "overlay_files"
EVALUATION = "evaluation"
REFERENCE = "diff.patch"  # in OVERLAY; the agent never sees it


@dataclass(frozen=True, slots=True)
class BoxFile:
    """A file or folder of this machine that a box gets a copy of at `target`."""

    source: Path
    target: str


@dataclass(frozen=True, slots=True)
class Rubric:
    """A criterion of the verdict and its weight. Without a test script it does not count."""

    id: str
    criterion: str
    weight: float
    gate: bool = False


@dataclass(frozen=True, slots=True)
class TestScript:
    """A file of `evaluation/` that is run against the work: it passes with exit code 0."""

    path: str
    rubric: str | None = None
    runner: str = "python"


@dataclass(frozen=True, slots=True)
class PreparedTask:
    """A task as its folder tells it. `sha256` is the hash of all of the folder's files."""

    folder: Path
    id: str
    title: str
    instruction: str
    rubrics: Sequence[Rubric]
    tests: Sequence[TestScript]
    sha256: str
    environment: Mapping[str, str] = field(default_factory=dict)
    protect: Sequence[str] = ()
    timeout_s: float | None = None
    verifier_timeout_s: float | None = None
    pass_score: float | None = None

    def agent_files(self) -> Sequence[BoxFile]:
        return (BoxFile(self.repo, "/app/repo"),)

    def verifier_files(self) -> Sequence[BoxFile]:
        return self.agent_files()

    def score(self, passed: Mapping[str, bool]) -> float:
        shares = {
            each.id: [passed[test.path] for test in self.tests if test.rubric == each.id]
            for each in self.rubrics
        }
        counted = [each for each in self.rubrics if shares[each.id] and not each.gate]
        whole = sum(each.weight for each in counted)
        if not whole or any(not all(shares[each.id]) for each in self.rubrics if each.gate):
            return 0.0
        return sum(each.weight * sum(shares[each.id]) / len(shares[each.id]) for each in counted) / whole

    @property
    def repo(self) -> Path:
        return self.folder / REPO

    @property
    def evaluation(self) -> Path:
        return self.folder / EVALUATION

    @property
    def reference(self) -> Path | None:
        path = self.folder / OVERLAY / REFERENCE
        return path if path.is_file() else None


def read_task(folder: Path) -> PreparedTask:
    """Raises: DataError where the folder is no prepared task."""
    meta = folder / META
    if not meta.is_file():
        raise DataError(f"{folder} is no prepared task: it has no {META}")
    try:
        told: dict[str, Any] = json.loads(meta.read_text())
    except json.JSONDecodeError as error:
        raise DataError(f"{meta}: {error}") from None
    evaluation = told.get("evaluation", {})
    return PreparedTask(
        folder,
        told["task_id"],
        told.get("metadata", {}).get("title", told["task_id"]),
        told["lm"]["instructions"],
        [Rubric(each["id"], each["criterion"], each["weight"]) for each in evaluation.get("rubrics", [])],
        [
            TestScript(
                each["path"], each.get("rubric_id"), "sh" if each["path"].endswith(".sh") else "python"
            )
            for each in evaluation.get("test_scripts", [])
        ],
        folder_digest(folder),
    )


def folder_digest(folder: Path) -> str:
    """SHA-256 over the names, modes and contents of all files, in the order of their names."""
    found = hashlib.sha256()
    for path in sorted(_files(folder)):
        runs = b"x" if os.access(path, os.X_OK) else b"-"
        found.update(path.relative_to(folder).as_posix().encode() + b"\0" + runs)
        body = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
        found.update(hashlib.sha256(body).digest())
    return found.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    for here, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if each != "__pycache__"]
        yield from (Path(here, name) for name in names)
