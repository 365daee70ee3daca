"""The parts of docs/calibration.md, each of which is written by a tool of its own and kept by the others."""

from __future__ import annotations

JUDGED = "\n## A judge corrected by people\n"
SEQUENTIAL = "\n## Stopping when it is decided\n"
FORKS = "\n## Forking paths\n"
PARTS = (JUDGED, SEQUENTIAL, FORKS)  # in their order; each ends where the next begins


def part(page: str, mark: str) -> str:
    """The part that begins with `mark`, as it stands; empty where the page has none."""
    if mark not in page:
        return ""
    found = page[page.index(mark) :]
    ends = [found.index(other) for other in PARTS if other != mark and other in found]
    return found[: min(ends, default=len(found))]


def first_part(page: str) -> str:
    """What stands before all of them."""
    return page[: min((page.index(mark) for mark in PARTS if mark in page), default=len(page))]


def replaced(page: str, mark: str, text: str) -> str:
    """The page with another text as its part `mark`, in its place among the others."""
    parts = {each: text if each == mark else part(page, each) for each in PARTS}
    return first_part(page) + "".join(parts.values())
