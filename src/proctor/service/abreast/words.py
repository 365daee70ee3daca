"""How far runs that are asked side by side are from a verdict, in a line for whoever watches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from proctor.findings.looks import Decision, Path


def walk_lines(of: Decision, names: Mapping[str, str]) -> Iterator[str]:
    """How far the walk is and how far it must go, of the pair that is closest; then what it waits for.

    `names` are the runs' models. Figures stand first, for names may be long and lines short.
    """
    still = {pair: path for pair, path in of.paths.items() if path.ended == "open"}
    if not still:
        if of.said:
            yield of.said
        return
    pair, path = max(still.items(), key=lambda each: _share(each[1]))
    told = _standing(path, *(names.get(run, run[:8]) for run in pair))
    if len(of.paths) > 1:
        over = len(of.paths) - len(still)
        told = f"{over} of {len(of.paths)} pairs decided; closest, {told}"
    yield told
    if of.waits:
        yield of.waits


def tells_of(of: Decision, run_id: str, names: dict[str, str]) -> bool:
    """Whether a decision is told with this run: once, with the last of `names`, when all in question are known."""
    open_ones = {run for pair, path in of.paths.items() if path.ended == "open" for run in pair}
    return run_id == next(reversed(names), None) and open_ones <= names.keys()


def _standing(path: Path, first: str, second: str) -> str:
    """
    >>> from proctor.findings.looks import PathPoint
    >>> _standing(Path(1200, (PathPoint(132, -18, 21),), "open", 0.05, 0.2, None, ""), "a", "b")
    'after 132 of 1,200 items: walk 18 of 21, b ahead of a'
    """
    if not path.points:
        return f"no look yet: {first} and {second} have not answered enough of {path.of:,} items"
    last = path.points[-1]
    needed = f" of {_number(last.boundary)}" if last.boundary is not None else ", too early to decide"
    ahead = "even"
    if last.walk:
        ahead = f"{first} ahead of {second}" if last.walk > 0 else f"{second} ahead of {first}"
    return f"after {last.items:,} of {path.of:,} items: walk {_number(abs(last.walk))}{needed}, {ahead}"


def _share(path: Path) -> float:
    """How much of its way to the boundary a walk has gone."""
    last = path.points[-1] if path.points else None
    return abs(last.walk) / last.boundary if last is not None and last.boundary else -1.0


def _number(value: float) -> str:
    """
    >>> _number(18.0), _number(18.25)
    ('18', '18.2')
    """
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"
