"""The kinds of sources, one row each: what is done with a source of each kind is asked of its row and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from proctor.errors import ConfigError
from proctor.references import ExamRef, SourceRef
from proctor.service.kinds.contract import R, SourceKind

# Module and row of each kind. Imported when a source of the kind is met: a run of questions needs no sandbox.
KINDS: Mapping[str, tuple[str, str]] = {
    "suite": ("exams", "SUITE"),
    "file": ("exams", "FILE"),
    "dataset": ("datasets", "DATASET"),
    "batch": ("batches", "BATCH"),
    "rollouts": ("rollouts", "ROLLOUTS"),
    "judging": ("judging", "JUDGING"),
    "log": ("logs", "LOG"),
    "outputs": ("logs", "OUTPUTS"),
}


def kind_of(ref: R) -> SourceKind[R, Any]:
    """The row of a reference's kind."""
    return _row(ref.kind)


@cache
def _row(kind: str) -> SourceKind[Any, Any]:
    module, name = KINDS[kind]
    row: SourceKind[Any, Any] = getattr(import_module(f"proctor.service.kinds.{module}"), name)
    return row


def exam_ref(ref: SourceRef) -> ExamRef:
    """The reference, where it is an exam's; else ConfigError: whoever asks has words for exams alone."""
    if isinstance(ref, ExamRef):
        return ref
    raise ConfigError(f"{ref.listed} is no exam: neither one of the suites nor questions of your own")
