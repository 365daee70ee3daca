"""The metrics of the exams: pure, versioned functions of answers and targets.

Those on tables and numbers take numpy arrays and work along the last axes, so that one call gives the
value of an exam or of 2,000 resampled ones. A reply without a readable answer is a wrong prediction,
never a missing one: see `confusion`, `f1a` and `gender_parity`.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proctor.types import Outcome

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scored:
    """One asking of one item, as the statistics see it.

    `item` is the item's id, with its wording ("@2") where there are several. `target` is None where it
    is hidden. `answer` is None where none could be read. `half` is the part of a task that is averaged
    by parts (MNLI's m and mm). `candidates` is how many answers a question of kind "letters" offered.
    `content` is the hash of what was asked: two runs share an item where id and content are the same. `together`
    names what hangs together through copies, in whatever task (`hanging.copies`); it then stands before the cluster.
    """

    item: str
    task: str
    target: str | None
    answer: str | None
    outcome: Outcome
    score: float | None
    cluster: str | None = None
    half: str | None = None
    repeat: int = 0
    candidates: int | None = None
    content: str = ""
    together: str | None = None


# Labels -----------------------------------------------------------------------------------------


def confusion(
    targets: Sequence[str],
    answers: Sequence[str | None],
    labels: Sequence[str],
    weights: Sequence[float] | None = None,
) -> Array:
    """The table of targets (rows) by answers (columns), with one column more for what is no label.

    An unread answer, or one that is no label, is wrong: with two labels it counts as the other label
    than the target; with more it goes to the last column, which matches no target.
    """
    import numpy as np

    found = np.zeros((len(labels), len(labels) + 1))
    rows, columns = cells(targets, answers, labels)
    np.add.at(found, (rows, columns), 1.0 if weights is None else np.asarray(weights, dtype=np.float64))
    return found


def cells(
    targets: Sequence[str], answers: Sequence[str | None], labels: Sequence[str]
) -> tuple[list[int], list[int]]:
    """The row and the column of `confusion` that each answer falls into."""
    place = {label: index for index, label in enumerate(labels)}
    nowhere = len(labels)
    rows = [place[target] for target in targets]
    columns = [place.get(answer, nowhere) if answer is not None else nowhere for answer in answers]
    if len(labels) == 2:
        columns = [
            1 - row if column == nowhere else column for row, column in zip(rows, columns, strict=True)
        ]
    return rows, columns


def accuracy(table: Array) -> Array:
    """The share on the diagonal of a table of `confusion`."""
    return _ratio(_diagonal(table).sum(axis=-1), table.sum(axis=(-2, -1)))


def f1(table: Array, positive: int) -> Array:
    """The F1 of the label at place `positive`: 2 tp / (2 tp + fp + fn), 0 where all three are 0."""
    return _label_f1(table)[..., positive]


def macro_f1(table: Array) -> Array:
    """The unweighted mean of every label's F1, with 0 for a label neither asked for nor answered."""
    found: Array = _label_f1(table).mean(axis=-1)
    return found


def mcc(table: Array) -> Array:
    """Matthews' correlation coefficient, for any number of labels R_K (Gorodkin 2004, CBAC 28:367).

    0 where all targets or all answers are one label, as everywhere.

    >>> import numpy
    >>> round(float(mcc(numpy.array([[3.0, 1.0, 0.0], [2.0, 6.0, 0.0]]))), 6)
    0.478091
    """
    import numpy as np

    asked, answered = table.sum(axis=-1), table.sum(axis=-2)
    n = asked.sum(axis=-1)
    together = _diagonal(table).sum(axis=-1) * n - (asked * answered[..., :-1]).sum(axis=-1)
    spread = (n**2 - (answered**2).sum(axis=-1)) * (n**2 - (asked**2).sum(axis=-1))
    return np.clip(_ratio(together, np.sqrt(np.maximum(spread, 0.0))), -1.0, 1.0)


def _label_f1(table: Array) -> Array:
    asked, answered = table.sum(axis=-1), table.sum(axis=-2)[..., :-1]
    return _ratio(2 * _diagonal(table), asked + answered)


def _diagonal(table: Array) -> Array:
    import numpy as np

    return np.diagonal(table, axis1=-2, axis2=-1)


def _ratio(above: Array, below: Array) -> Array:
    """The quotient, and 0 where the divisor is 0."""
    import numpy as np

    above, below = np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)
    return np.divide(above, below, out=np.zeros(np.broadcast(above, below).shape), where=below > 0)


# Numbers ----------------------------------------------------------------------------------------


def pearson(x: Array, y: Array, weights: Array) -> Array:
    """Pearson's correlation of weighted pairs; `weights` may have leading axes, one value for each.

    0 where x or y is constant: such predictions say nothing about the targets, as with `mcc`.
    """
    import numpy as np

    n = weights.sum(axis=-1)
    x, y = (np.broadcast_to(z - z[..., :1], weights.shape) for z in (x, y))
    # The mean of a constant leaves rounding errors behind, of about 1e-32 of the squares.
    noise = [1e-20 * (weights * z * z).sum(axis=-1) for z in (x, y)]
    x, y = (z - _ratio((weights * z).sum(axis=-1), n)[..., None] for z in (x, y))
    spread_x, spread_y = ((weights * z * z).sum(axis=-1) for z in (x, y))
    constant = (spread_x <= noise[0]) | (spread_y <= noise[1])
    below = np.where(constant, 0.0, np.sqrt(spread_x * spread_y))
    return np.clip(_ratio((weights * x * y).sum(axis=-1), below), -1.0, 1.0)


def spearman(x: Array, y: Array, weights: Array) -> Array:
    """Spearman's rank correlation of weighted pairs; ties share their middle rank. See `pearson`."""
    return pearson(mid_ranks(x, weights), mid_ranks(y, weights), weights)


def mid_ranks(x: Array, weights: Array) -> Array:
    """The place of each value when every pair stands `weights` times in the row; ties share the middle.

    >>> import numpy
    >>> mid_ranks(numpy.array([5.0, 7.0, 5.0]), numpy.ones(3)).tolist()
    [1.0, 2.5, 1.0]
    """
    import numpy as np

    _, group = np.unique(x, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(group.max() + 1))
    sizes = np.add.reduceat(weights[..., order], starts, axis=-1)
    # Half a place lower than the usual ranks, which no correlation sees.
    middles = np.cumsum(sizes, axis=-1) - sizes / 2
    found: Array = middles[..., group]
    return found


# Texts ------------------------------------------------------------------------------------------

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def squad_normal(text: str) -> str:
    """SQuAD's normal form: lower case, no punctuation, no a, an, the, single spaces.

    >>> squad_normal(" The  U.S.-born   poet")
    'usborn poet'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def squad_f1(answer: str | None, golds: Sequence[str]) -> float:
    """The best F1 over words against any right text, in SQuAD's normal form."""
    if answer is None:
        return 0.0
    return max((_words_f1(squad_normal(answer), squad_normal(gold)) for gold in golds), default=0.0)


def _words_f1(one: str, other: str) -> float:
    if one == other:
        return 1.0
    a, b = one.split(), other.split()
    common = (Counter(a) & Counter(b)).total()
    return 2 * common / (len(a) + len(b)) if common else 0.0


# Several right answers, and pairs ---------------------------------------------------------------


def letters(text: str) -> frozenset[str]:
    """The letters of a MultiRC target or answer.

    >>> sorted(letters("A,C")), sorted(letters("none"))
    (['A', 'C'], [])
    """
    return frozenset() if text == "none" else frozenset(letter.strip() for letter in text.split(","))


def marks(target: str, answer: str | None, candidates: int | None = None) -> tuple[int, int, int]:
    """A question's candidate answers: rightly chosen, wrongly chosen, missed.

    An unread reply is wrong about every candidate; where their number is not known, about the right ones.
    """
    right = letters(target)
    if answer is None:
        return 0, max(0, (candidates or 0) - len(right)), len(right)
    chosen = letters(answer)
    return len(right & chosen), len(chosen - right), len(right - chosen)


def f1a(chosen: Array, extra: Array, missed: Array) -> Array:
    """MultiRC's F1 over all candidate answers of all questions, from the sums of `marks`."""
    return _ratio(2 * chosen, 2 * chosen + extra + missed)


def gender_parity(first: str | None, second: str | None) -> float:
    """1.0 if two sentences that differ only in gender got the same answer; unread answers are not the same."""
    return float(first is not None and first == second)
