"""Stamps: the time of a benchmark, in the names of all its trials, is no other benchmark's."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from proctor.errors import ConfigError
from proctor.references import RolloutsRef
from proctor.service.output.stamps import benchmark_folder, release, reserve, stamped
from proctor.types import Cell, Model, Plan

NOON = datetime(2026, 11, 22, 12, 34, 56, tzinfo=UTC)


def test_a_stamp_is_the_second_in_utc_as_documented(tmp_path: Path) -> None:
    assert re.fullmatch(r"\d{8}__\d\d-\d\d-\d\d", reserve(tmp_path, "a"))
    assert reserve(tmp_path, "b", now=NOON) == "20261122__12-34-56"
    assert benchmark_folder(tmp_path, "b", "20261122__12-34-56").is_dir()


def test_benchmarks_of_one_second_get_stamps_of_their_own_whatever_their_names(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda name: reserve(tmp_path, name, now=NOON), "aabbccdd"))
    assert sorted(made) == sorted(
        ["20261122__12-34-56", *(f"20261122__12-34-56_{number}" for number in range(2, 9))]
    )


def test_a_stamp_of_kept_trials_is_not_given_again(tmp_path: Path) -> None:
    (tmp_path / "runs" / "20261122__12-34-56-0").mkdir(parents=True)
    assert reserve(tmp_path, "a", now=NOON) == "20261122__12-34-56_2"


def test_a_stamp_that_was_not_used_is_free_again(tmp_path: Path) -> None:
    release(tmp_path, "a", reserve(tmp_path, "a", now=NOON))
    assert list((tmp_path / "rollouts").iterdir()) == []
    stamp = reserve(tmp_path, "a", now=NOON)
    (benchmark_folder(tmp_path, "a", stamp) / "manifest.json").write_text("{}")
    release(tmp_path, "a", stamp)
    assert reserve(tmp_path, "a", now=NOON) == "20261122__12-34-56_2"


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "rollouts").mkdir()
    (tmp_path / "rollouts/a").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="is a link"):
        reserve(tmp_path, "a")
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("name", ["..", "../up", "temp", "a/b"])
def test_a_name_that_leads_elsewhere_reserves_nothing(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError):
        reserve(tmp_path / "home", name)
    assert not (tmp_path / "home").exists()


def test_the_rows_of_a_plan_share_a_stamp(tmp_path: Path) -> None:
    base = RolloutsRef("bench", first=0)
    plan = Plan(tuple(Cell(Model("agent", "null"), replace(base, first=first)) for first in (0, 3)))
    refs = [cell.source for cell in stamped(plan, tmp_path).cells]
    assert all(isinstance(ref, RolloutsRef) and ref.data == str(tmp_path) for ref in refs)
    assert len({ref.stamp for ref in refs if isinstance(ref, RolloutsRef)}) == 1
    assert [ref.first for ref in refs if isinstance(ref, RolloutsRef)] == [0, 3]
