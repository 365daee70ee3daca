"""Whether a headline is a mean of item scores, and what each item weighs in it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from proctor.stats.estimates import ACCURACY, Shape
from proctor.stats.estimates_sheet import TaskShape
from proctor.stats.pairs import is_mean


@dataclass(frozen=True, slots=True)
class Weighed:
    """A task of the headline: the metrics whose mean an item's score is, and what the item weighs."""

    metrics: tuple[str, ...]
    kind: str
    weight: float


@dataclass(frozen=True, slots=True)
class Measure:
    """A headline as a mean of item scores over `items` planned ones, whose weights are 1 on average.

    `even`: all weigh the same. `item` is the weight of an item for what a few of them may add: with uneven weights
    that of as many items as they are worth (Kish 1965). `bounded`: scores lie from 0 to 1.
    """

    tasks: Mapping[str, Weighed]
    items: int
    worded: bool
    even: bool
    item: float
    bounded: bool
    key: str


def measure_of(shape: Shape, asked: Mapping[str, int]) -> Measure | str:
    """The headline over the tasks of which `asked` items are planned; why there is none, where it is no such mean."""
    here = {key: spec for key, spec in shape.tasks.items() if asked.get(key)}
    counted = {key: spec for key, spec in here.items() if not spec.extra} or here
    if not counted:
        return "no task here has scores"
    metrics = _metrics(counted, shape)
    if not metrics:
        return "no task here has an accuracy"
    odd = {key for key, names in metrics.items() if not all(is_mean(counted[key], name) for name in names)}
    if odd:
        return _why_not(counted, metrics, odd)
    parts = _parts({key: counted[key] for key in metrics}, shape, asked)
    items = sum(asked[key] for key in metrics)
    weights = {key: items * part / asked[key] for key, part in parts.items()}
    even = all(math.isclose(weight, 1.0, rel_tol=1e-9) for weight in weights.values())
    if even:
        weights = dict.fromkeys(weights, 1.0)
    return Measure(
        tasks={key: Weighed(names, counted[key].kind, weights[key]) for key, names in metrics.items()},
        items=items,
        worded=shape.worded,
        even=even,
        item=math.fsum(weights[key] ** 2 * asked[key] for key in metrics) / items,
        bounded="mean" not in {name for names in metrics.values() for name in names},
        key=f"{shape.suite} {' '.join(sorted({name for names in metrics.values() for name in names}))}",
    )


def _metrics(counted: Mapping[str, TaskShape], shape: Shape) -> dict[str, tuple[str, ...]]:
    """What of each task the headline counts, as `compare` has it."""
    if len(counted) == 1:
        ((key, spec),) = counted.items()
        alone = shape.aggregate == "micro" and spec.official[0] == ACCURACY
        return {key: (ACCURACY,) if alone else spec.official}
    if shape.aggregate == "macro":
        return {key: spec.official for key, spec in counted.items()}
    return {key: (ACCURACY,) for key, spec in counted.items() if ACCURACY in (*spec.official, *spec.also)}


def _parts(counted: Mapping[str, TaskShape], shape: Shape, asked: Mapping[str, int]) -> dict[str, float]:
    """What part of the headline each task is; they sum to 1."""
    if shape.aggregate == "macro":
        return dict.fromkeys(counted, 1 / len(counted))
    sizes = {key: spec.full_size or asked[key] for key, spec in counted.items()}
    return {key: size / sum(sizes.values()) for key, size in sizes.items()}


def _why_not(counted: Mapping[str, TaskShape], metrics: Mapping[str, tuple[str, ...]], odd: set[str]) -> str:
    named = "; ".join(f"{counted[key].title}: {' + '.join(metrics[key])}" for key in sorted(odd))
    fit = [key for key in metrics if key not in odd]
    cure = f". Tasks whose scores are: {', '.join(fit)}" if fit else ""
    return f"a score that is no mean over items cannot be followed item by item ({named}){cure}"
