"""How runs stand that are asked side by side, in a sentence, and what they wait for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proctor.figures import listed
from proctor.findings.looks import Path
from proctor.stats.sequential.reading import RunReading
from proctor.types import Run

Pair = tuple[str, str]


def called(runs: Sequence[Run]) -> dict[str, str]:
    """By their models; those whose model is asked twice also by their ids."""
    models = [str(run.cell.model) for run in runs]
    return {
        run.id: model if models.count(model) == 1 else f"{model} (run {run.id[:8]})"
        for run, model in zip(runs, models, strict=True)
    }


def said(runs: Sequence[Run], paths: Mapping[Pair, Path]) -> str:
    """One sentence: who is better than whom, between whom no difference is shown, and what is open."""
    if not paths:
        return ""
    names = called(runs)
    better: dict[str, list[str]] = {}
    others: dict[str, list[str]] = {"futile": [], "whole": [], "open": []}
    for (one, other), path in paths.items():
        if path.ended == "decided":
            ahead, behind = (one, other) if _ahead(path) else (other, one)
            better.setdefault(names[ahead], []).append(names[behind])
        else:
            others[path.ended].append(f"{names[one]} and {names[other]}")
    parts = [f"{ahead} is better than {listed(behind)}" for ahead, behind in better.items()]
    words = {
        "futile": "no difference is to be expected any more between {}",
        "whole": "no difference is shown between {}",
        "open": "it is not decided between {}",
    }
    parts += [words[ended].format(_between(pairs)) for ended, pairs in others.items() if pairs]
    told = "; ".join(parts)
    return f"{told[:1].upper() if not better else told[:1]}{told[1:]}, {_after(list(paths.values()))}"


def _ahead(path: Path) -> bool:
    """Whether the first of the pair led when it was decided."""
    crossed = (p for p in path.points if p.boundary is not None and abs(p.walk) >= p.boundary)
    return next(crossed, path.points[-1]).walk > 0


def _between(pairs: Sequence[str]) -> str:
    return pairs[0] if len(pairs) == 1 else ", between ".join(pairs[:-1]) + f" and between {pairs[-1]}"


def _after(paths: Sequence[Path]) -> str:
    """
    >>> _after([Path(1200, (), "open", 0.05, 1.0, None, "")])
    'before the first look at 1,200 items'
    """
    least, most = min(path.items for path in paths), max(path.items for path in paths)
    of = max(path.of for path in paths)
    if not most:
        return f"before the first look at {of:,} items"
    if most == of and least == most:
        return f"after all {of:,} items"
    return (
        f"after {most:,} of {of:,} items" if least == most else f"after {least:,} to {most:,} of {of:,} items"
    )


def waits(runs: Sequence[Run], paths: Mapping[Pair, Path], readings: Mapping[str, RunReading]) -> str:
    """Which run holds the others up, at which item, and whether an error is why; "" where none does."""
    names = called(runs)
    asked = {run for pair, path in paths.items() if path.ended == "open" for run in pair}
    if not asked:
        return ""
    last = min(asked, key=lambda run: readings[run].front)
    front, places = readings[last].front, readings[last].places
    if front >= places:
        return ""
    if readings[last].failed:
        return f"{names[last]} failed at item {front + 1:,} of {places:,}, which is asked again"
    if max(readings[run].front for run in asked) == front:
        return ""
    return f"{names[last]} has yet to answer item {front + 1:,} of {places:,}"
