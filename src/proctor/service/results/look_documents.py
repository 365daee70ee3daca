"""How a verdict was come to, as JSON: what was looked at besides, a pair's path look by look, what is decided."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from proctor.findings.looks import Decision, Looks, Path


def looks(of: Looks | None) -> dict[str, Any] | None:
    """Null where nobody counted, as of a single run."""
    return None if of is None else asdict(of)


def path(of: Path | None) -> dict[str, Any] | None:
    """A pair's sequential test; null where it was tested once. `items` of `of` planned ones are in its last point.

    Of each point `walk` is the sum of the differences so far, first minus second, and `boundary` how far from 0 it
    had to be to stop; null where nothing could stop it.
    """
    if of is None:
        return None
    return {
        "of": of.of,
        "items": of.items,
        "ended": of.ended,
        "alpha": of.alpha,
        "p_value": of.p_value,
        "critical": of.critical,
        "test": of.test,
        "points": [asdict(point) for point in of.points],
    }


def decision(of: Decision | None) -> dict[str, Any] | None:
    """Runs asked side by side until decided; null for all others. `finished` are asked no more."""
    if of is None:
        return None
    return {
        "over": of.over,
        "said": of.said,
        "waits": of.waits,
        "finished": sorted(of.finished),
        "paths": [
            {"first": first, "second": second, **(path(each) or {})}
            for (first, second), each in of.paths.items()
        ],
    }
