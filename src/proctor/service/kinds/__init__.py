"""The kinds of sources, one row each: what is done with a source of each kind is asked of its row and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proctor.errors import ConfigError
from proctor.references import ExamRef, SourceRef
from proctor.service.kinds.batches import BATCH
from proctor.service.kinds.contract import R, SourceKind
from proctor.service.kinds.datasets import DATASET
from proctor.service.kinds.exams import FILE, SUITE
from proctor.service.kinds.logs import LOG, OUTPUTS
from proctor.service.kinds.rollouts import ROLLOUTS

KINDS: Mapping[str, SourceKind[Any, Any]] = {
    "suite": SUITE,
    "file": FILE,
    "dataset": DATASET,
    "batch": BATCH,
    "rollouts": ROLLOUTS,
    "log": LOG,
    "outputs": OUTPUTS,
}


def kind_of(ref: R) -> SourceKind[R, Any]:
    """The row of a reference's kind."""
    return KINDS[ref.kind]


def exam_ref(ref: SourceRef) -> ExamRef:
    """The reference, where it is an exam's; else ConfigError: whoever asks has words for exams alone."""
    if isinstance(ref, ExamRef):
        return ref
    raise ConfigError(f"{ref.listed} is no exam: neither one of the suites nor questions of your own")
