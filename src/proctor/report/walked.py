"""How pairs were tested that were looked at while at work or that stopped early: the walks, in prose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from proctor.findings import Difference
from proctor.report.words import unique

LOOKED = (
    "Pairs whose figures were shown while their runs were at work, or whose runs stopped early, were tested by a "
    "sequential test over their whole path: its level holds however often one looks and whenever one stops. It reads "
    "the items in the order of asking up to the first that one of the two has not answered. After every hundredth of "
    "the N planned items the sum of the differences so far is set against a boundary; the boundaries are such that two "
    "equally good models come to cross one within t items with a probability of at most alpha (t/N)^2 (Lan and DeMets "
    "1983, Kim and DeMets 1987)."
)
FUTILE = (
    "A pair that was asked until decided ends without a verdict, from a tenth of the items on, where the rest would "
    "hardly decide it: where the probability of that is below 10 %, taking the trend so far and 0.84 of its standard "
    'errors more for the true one (Lan, Simon and Halperin 1982). That makes no "better" likelier.'
)

# What Difference.test begins with, before what it spends -> what it does.
WALKS: Mapping[str, str] = {
    "sign walk": (
        "The sign walk takes a step towards a model for each item that it alone got right; how far such a walk of fair "
        "signs comes is computed exactly."
    ),
    "sign-flip walk": (
        "The sign-flip walk adds up the differences of units that hang together (an item's askings, a cluster's items) "
        "as the headline weighs them. Its boundary is that of many walks in which each unit's sign is turned at "
        "random, the observed one among them, so that its level is exact (Hemerik and Goeman 2018); four items that "
        "differ by all that an item can, two each way, are added to what it varies by."
    ),
}
# What Estimate.method begins with, of pairs that were tested by their path.
REPEATED = "repeated confidence interval"
INTERVAL = (
    "The interval of the difference of such a pair is a repeated confidence interval: as many standard errors wide as "
    "the boundary was at the last look, so that it holds at whatever look one stops (Jennison and Turnbull 1989)"
)
WIDTHS: Mapping[str, str] = {
    "Tango": "; the standard errors of shares of right answers are those of the score interval (Tango 1998).",
    "sign flips of units": "; the standard error is that of the difference over all signs of the units.",
}
WORDS = (LOOKED, FUTILE, *WALKS.values(), INTERVAL)


def interval(method: str) -> str | None:
    """The sentence on a repeated interval; None of any other method.

    >>> interval("Wilson"), (interval("repeated confidence interval (Tango)") or "")[-13:]
    (None, '(Tango 1998).')
    """
    kind, _, width = method.partition(" (")
    return INTERVAL + WIDTHS.get(width.removesuffix(")"), ".") if kind == REPEATED else None


def kind_of(test: str) -> str:
    """The walk that a test's name begins with.

    >>> kind_of("sign walk, spending 0.05 (t/N)^2"), kind_of("exact McNemar")
    ('sign walk', 'exact McNemar')
    """
    return test.partition(", spending ")[0]


def how_walked(shown: Sequence[Difference]) -> Iterator[str]:
    """Sentences on the pairs among `shown` that were tested by their path; none where none was."""
    paths = [each.path for each in shown if each.path is not None]
    if not paths:
        return
    yield LOOKED
    yield from (WALKS[kind] for kind in unique(kind_of(path.test) for path in paths) if kind in WALKS)
    if any(path.ended == "futile" for path in paths):
        yield FUTILE
