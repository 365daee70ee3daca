"""What a verdict says of a pair that was tested by its path: when it stopped, why, and what the rest could show."""

from __future__ import annotations

from collections.abc import Callable

from proctor.figures import MOST_ITEMS, among, rounded
from proctor.findings import Comparison
from proctor.findings.looks import Path
from proctor.types import Run, Status


def came_to(c: Comparison) -> tuple[str, str]:
    """Behind a difference after how many of the items it stands, and before its test why it was stopped there.

    Both are "" where all items were asked.
    """
    path = c.whole.path
    if path is None or path.items == path.of or not path.items:
        return "", ""
    side_by_side = c.first.cell.limits.until_decided and c.second.cell.limits.until_decided
    stopped = "stopped as decided; " if side_by_side and path.ended == "decided" else ""
    return f" after {path.items:,} of {path.of:,} items", stopped


def not_shown(c: Comparison, pair: tuple[str, str], difference: str) -> str | None:
    """Of a pair that was not asked to its end and is not decided; None for every other."""
    path = c.whole.path
    if path is None or path.items == path.of:
        return None
    first, second = pair
    if not path.points:
        return f"Nothing can be said of {first} and {second} yet: {_no_look(path)}. {_rest(c, path)}".rstrip()
    return (
        f"{_TOLD[path.ended](path, first, second)}: the difference is {difference}. {_rest(c, path)}".rstrip()
    )


def _futile(path: Path, first: str, second: str) -> str:
    return (
        f"After {path.items:,} of {path.of:,} items no difference between {first} and {second} is shown, and the "
        f"other {path.of - path.items:,} would hardly show one"
    )


def _open(path: Path, first: str, second: str) -> str:
    return (
        f"After {path.items:,} of {path.of:,} items it is not decided which of {first} and {second} is better"
    )


def _among_others(path: Path, first: str, second: str) -> str:
    return (
        f"After {path.items:,} of {path.of:,} items {first} and {second} could be told apart if they were alone, but "
        "not among so many comparisons"
    )


_TOLD: dict[str, Callable[[Path, str, str], str]] = {
    "futile": _futile,
    "open": _open,
    "whole": _open,
    "decided": _among_others,
}


def _no_look(path: Path) -> str:
    return f"it is first looked at after {-(-path.of // 100):,} of {path.of:,} items"


def _rest(c: Comparison, path: Path) -> str:
    """What the items that were not asked could show, and how they are asked."""
    if path.ended in ("futile", "decided"):
        return _needed(c, path)
    lacking = [run for run in (c.first, c.second) if run.partial]
    if any(run.status in (Status.RUNNING, Status.PENDING) for run in lacking):
        return ""
    return f"{_needed(c, path)} {_cure(lacking)}".strip()


def _needed(c: Comparison, path: Path) -> str:
    """How many rows a difference of this size takes, where that is more than were planned."""
    needed = c.whole.items_needed
    if needed is None or needed <= path.of:
        return ""
    if needed > MOST_ITEMS:
        return f"A difference as small as this would take more than {MOST_ITEMS:,} rows to show."
    power = f"80 % power{among(c.whole.comparisons)}"
    return f"If it is truly as large, about {rounded(needed):,} rows like these would show it ({power})."


def _cure(lacking: list[Run]) -> str:
    if not lacking:
        return ""
    plans = {run.plan_id for run in lacking}
    which = lacking[0].id if len(lacking) == 1 else plans.pop() if len(plans) == 1 else ""
    return f"`proctor resume {which[:8]}` asks the rest." if which else "`proctor resume` asks the rest."
