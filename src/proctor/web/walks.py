"""The dashboard: how a verdict was come to. The walk of each pair between its boundaries, drawn and as a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proctor.figures import path_said
from proctor.findings import Evaluation
from proctor.findings.looks import Decision, Path, PathEnd, PathPoint

STATES: Mapping[PathEnd, tuple[str, str]] = {
    "open": ("not decided yet", "blue"),
    "decided": ("decided", "green"),
    "futile": ("ended: no difference shown", ""),
    "whole": ("asked to the end", ""),
}


@dataclass(frozen=True, slots=True)
class Walked:
    """A pair's walk as a page shows it; `said` is one sentence of where it stands."""

    first: str
    second: str
    path: Path
    said: str
    chart: dict[str, Any]

    @property
    def state(self) -> tuple[str, str]:
        """The chip: words and colour."""
        return STATES[self.path.ended]

    @property
    def last(self) -> PathPoint | None:
        return self.path.points[-1] if self.path.points else None

    @property
    def spared(self) -> int:
        """How many items of the plan were not asked, because the pair had ended."""
        return self.path.of - self.path.items if self.path.ended in ("decided", "futile") else 0


def walks_of(of: Evaluation, names: Mapping[str, str]) -> list[Walked]:
    """Of every compared pair that was tested by its path; `names` are by run id."""
    return [
        walked(names[pair.first.id], names[pair.second.id], pair.whole.path)
        for pair in of.comparisons
        if pair.whole.path is not None
    ]


def walks_in(of: Decision, names: Mapping[str, str], run_id: str) -> list[Walked]:
    """Of runs asked side by side: first the pairs that `run_id` is one of."""
    ordered = sorted(of.paths.items(), key=lambda pair: run_id not in pair[0])
    return [walked(names[first], names[second], path) for (first, second), path in ordered]


def walked(first: str, second: str, path: Path) -> Walked:
    return Walked(first, second, path, path_said(first, second, path), _chart(first, second, path))


def _chart(first: str, second: str, path: Path) -> dict[str, Any]:
    return {
        "first": first,
        "second": second,
        "of": path.of,
        "ended": path.ended,
        "points": [[point.items, point.walk, point.boundary] for point in path.points],
    }
