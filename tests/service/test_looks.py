"""What was tried beside a comparison is counted, allowed for and said."""

from __future__ import annotations

from pathlib import Path

import pytest

from bundles import answers, replayed, rows
from opened import compare_named
from proctor.findings import Evaluation
from proctor.references import ExamRef
from simulators import settings

N = 100
ROWS = "ways.jsonl"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five models: the best is 11 items before the worst, and nobody else between them is far from either."""
    home = tmp_path_factory.mktemp("looks")
    rows(home, N)
    for place, name in enumerate(("alpha", "beta", "gamma", "delta", "epsilon")):
        asked(home, name, range(20 + place))
    return home


def asked(home: Path, name: str, wrong: range, **how: object) -> str:
    return replayed(home, ExamRef("file", str(home / ROWS), **how), answers(N, wrong=wrong), name)


def side_by_side(home: Path, *names: str, **how: object) -> Evaluation:
    return compare_named(list(names), settings(home), **how).evaluation
