"""How far a judge and people, or two labellers, give the same grades: Cohen's kappa, shares, and the table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proctor.findings import Estimate
from proctor.stats import resample
from proctor.stats.estimates import Count, accuracy
from proctor.stats.estimates_sheet import nothing
from proctor.stats.intervals import Z95

if TYPE_CHECKING:
    from proctor.stats.metrics import Array

DRAWN = f"the wider of the large-sample interval and draws of the table, {resample.SAID}"
KAPPA = f"Cohen's kappa, {DRAWN}"
WEIGHTED = f"Cohen's kappa, quadratic weights, {DRAWN}"


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """How far a judge and people agree. `table` counts items: rows are the judge's grades, columns people's.

    `judge_right` is, for each grade, of the items to which the judge gave it the share to which people gave it too;
    `people_met` of the items to which people gave it the share to which the judge did.
    """

    kappa: Estimate
    share: Estimate
    grades: tuple[str, ...]
    table: tuple[tuple[int, ...], ...]
    judge_right: tuple[Estimate, ...]
    people_met: tuple[Estimate, ...]


def judge_and_people(
    judge: Sequence[str], people: Sequence[str], grades: Sequence[str], *, ordered: bool = False
) -> JudgeAgreement:
    """Both on the same items, in the same order; `grades` are all there are, in order.

    Raises ValueError for a grade that is none of them, and where one side has more items than the other.
    """
    table = _table(judge, people, grades)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    said = [f"the judge gave no {grade!r}" for grade in grades]
    told = [f"people gave no {grade!r}" for grade in grades]
    return JudgeAgreement(
        kappa=_kappa(table, ordered=ordered),
        share=agree(judge, people),
        grades=tuple(grades),
        table=tuple(tuple(int(n) for n in row) for row in table),
        judge_right=tuple(_part(table[i, i], rows[i], said[i]) for i in range(len(grades))),
        people_met=tuple(_part(table[i, i], columns[i], told[i]) for i in range(len(grades))),
    )


def agree(first: Sequence[str], second: Sequence[str]) -> Estimate:
    """The share of items that got the same grade from both, with its Wilson interval.

    >>> agree(["pass", "fail"], ["pass", "pass"]).value
    0.5
    """
    return _part(sum(one == two for one, two in zip(first, second, strict=True)), len(first), NONE_BOTH)


NONE_BOTH = "no item has a grade of both"


def kappa(
    first: Sequence[str], second: Sequence[str], grades: Sequence[str], *, ordered: bool = False
) -> Estimate:
    """Cohen's kappa (1960, Educ. Psychol. Meas. 20:37) with a 95 % interval; None where one grade is all there is.

    1 less the disagreement over that of chance by the margins. `ordered` weighs a disagreement by the square of how
    far apart the grades stand in `grades` (Cohen 1968, Psychol. Bull. 70:213), else all weigh alike. The standard error
    is that of Fleiss, Cohen and Everitt (1969, Psychol. Bull. 72:323). Since small or nearly pure tables have an
    interval too narrow by it, none at all where all agree, draws from the table stand beside it.

    >>> found = kappa("aab" * 20, "aab" * 18 + "abb" * 2, "ab")
    >>> round(found.value, 4), found.scored
    (0.9268, 60)
    """
    return _kappa(_table(first, second, grades), ordered=ordered)


def _table(first: Sequence[str], second: Sequence[str], grades: Sequence[str]) -> Array:
    import numpy as np

    places = {grade: place for place, grade in enumerate(grades)}
    if unknown := sorted({*first, *second} - places.keys()):
        raise ValueError(f"grade {unknown[0]!r} is none of {', '.join(grades)}")
    table = np.zeros((len(places), len(places)))
    for one, two in zip(first, second, strict=True):
        table[places[one], places[two]] += 1
    return table


def _part(hold: float, n: float, reason: str) -> Estimate:
    return accuracy(Count(int(n), int(n), float(hold))) if n else nothing(0, reason)


def _kappa(table: Array, *, ordered: bool) -> Estimate:
    import numpy as np

    n = int(table.sum())
    if not n:
        return nothing(0, NONE_BOTH)
    far = _distances(len(table), ordered=ordered)
    value = float(_of_tables(table, far))
    if not math.isfinite(value):
        return nothing(n, "both gave one and the same grade throughout, so that chance alone agrees as often")
    stderr = _stderr(table, value, far)
    # Drawn from the grades that were given: those that nobody used are no part of what could have come out.
    used = (table.sum(axis=0) + table.sum(axis=1)) > 0
    drawn = _of_tables(_draws(table[np.ix_(used, used)]), far[np.ix_(used, used)])
    _, low, high = resample.spread(drawn, value)
    low, high = min(low, value - Z95 * stderr), max(high, value + Z95 * stderr)
    method = WEIGHTED if ordered else KAPPA
    return Estimate(value, stderr, max(-1.0, low), min(1.0, high), n, n, method)


def _distances(grades: int, *, ordered: bool) -> Array:
    """How far each two grades disagree: 0 where they are equal, 1 at the most."""
    import numpy as np

    if not ordered:
        return 1 - np.eye(grades)
    places = np.arange(grades) / max(1, grades - 1)
    far: Array = (places[:, None] - places[None, :]) ** 2
    return far


def _of_tables(table: Array, far: Array) -> Array:
    """Kappa of one table or of many; not a number where chance alone agrees throughout."""
    import numpy as np

    rows, columns = table.sum(axis=-1), table.sum(axis=-2)
    seen = (table * far).sum(axis=(-1, -2)) * rows.sum(axis=-1)
    chance = np.einsum("...i,ij,...j->...", rows, far, columns)
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Array = 1 - seen / chance
    return found


def _stderr(table: Array, value: float, far: Array) -> float:
    """Fleiss, Cohen and Everitt (1969), equation 13, written with disagreements."""
    n = float(table.sum())
    share = table / n
    rows, columns = share.sum(axis=1), share.sum(axis=0)
    chance = float(rows @ far @ columns)
    by_row, by_column = far @ columns, rows @ far  # the mean disagreement of a row, and of a column
    each = far - (1 - value) * (by_row[:, None] + by_column[None, :])
    centre = float((share * far).sum()) - 2 * (1 - value) * chance
    spread = float((share * each**2).sum()) - centre**2
    return math.sqrt(max(0.0, spread) / n) / chance


def _draws(table: Array) -> Array:
    """Tables that could as well have come out: Dirichlet, with one item added in all, half of it in agreement."""
    import numpy as np

    k = len(table)
    added = np.eye(k) * 0.5 / k + (1 - np.eye(k)) * 0.5 / max(1, k * (k - 1))
    return resample.dirichlet(resample.stream("kappa"), table, added)
