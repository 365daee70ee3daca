"""Batches whose right answers are known have scores as exams have; others are on no board."""

from __future__ import annotations

from pathlib import Path

import pytest

from opened import compare_named, history, leaderboard, start
from output_files import file_of, request
from proctor.errors import ConfigError, NotFound
from proctor.references import BatchRef
from proctor.settings import Settings, read_settings
from proctor.types import Cell, Model, Plan, Run, Sampling

pytestmark = pytest.mark.slow

AS_WRITTEN = Sampling(temperature=None, max_tokens=None, context_tokens=None, seed=None)


def sums(path: Path, first: int, n: int = 40) -> Path:
    lines = [
        {**request(f"r{k:03}", f"What is {first + k}+{first + k}?"), "answer": str(2 * (first + k))}
        for k in range(n)
    ]
    return file_of(path, lines)


def ran(
    settings: Settings, path: Path, *models: str, gold: str | None = "answer", limit: int | None = None
) -> list[Run]:
    source = BatchRef(str(path), gold=gold, limit=limit)
    plan = Plan(tuple(Cell(Model("simulator", name), source, AS_WRITTEN) for name in models))
    return [result.run for result in start(plan, settings).evaluation.results]


def test_batches_of_one_file_are_compared_on_shared_requests_and_two_files_never_are(tmp_path: Path) -> None:
    settings = read_settings({"PROCTOR_HOME": str(tmp_path / "home")})
    one, two = sums(tmp_path / "one.jsonl", 0), sums(tmp_path / "two.jsonl", 500)
    better, worse = ran(settings, one, "sim", "sim-small")
    part = ran(settings, one, "sim", limit=10)[0]
    (other,) = ran(settings, two, "sim")
    assert better.comparability == worse.comparability == part.comparability != other.comparability
    found = compare_named([better.id, worse.id], settings)
    assert found.evaluation.comparisons[0].whole.shared == 40
    assert compare_named([part.id, worse.id], settings).evaluation.comparisons[0].whole.shared == 10
    with pytest.raises(ConfigError, match=r"requests of one\.jsonl and requests of two\.jsonl"):
        compare_named([better.id, other.id], settings)
    board = leaderboard(settings, suite="one.jsonl")
    assert {str(place.result.run.cell.model) for place in board.places} == {
        "simulator/sim",
        "simulator/sim-small",
    }
    changes = {line.result.run.id: line.change for line in history(settings).runs}
    assert changes[other.id] is None and len(changes) == 4


def test_requests_without_right_answers_are_on_no_board_and_say_so(tmp_path: Path) -> None:
    settings = read_settings({"PROCTOR_HOME": str(tmp_path / "home")})
    path = sums(tmp_path / "one.jsonl", 0, 5)
    one, two = ran(settings, path, "sim", "sim-small", gold=None)
    assert one.comparability is None
    with pytest.raises(ConfigError, match=r"`proctor batch compare .*compares what was replied"):
        compare_named([one.id, two.id], settings)
    with pytest.raises(NotFound, match="nothing to rank"):
        leaderboard(settings)
    assert all(line.change is None for line in history(settings).runs)
