"""How the runs were compared, in prose: items, tests, intervals, adjustments, the rule, and what is not meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proctor.figures import among, amount, margin, metric_words
from proctor.findings import Comparison, Difference, Evaluation
from proctor.findings.looks import Looks
from proctor.report import walked
from proctor.report.pairs import with_the_best
from proctor.report.papers import INTERVALS, TESTS, split
from proctor.report.words import COMPLETE, names_joined, state, unique

SHARED = (
    "The models were compared in pairs, on the items that both have scored: an item that ended in an error in one of "
    "the two runs is left out of both, and an item that was asked several times counts once, with the mean of its "
    "askings. All figures of a comparison, also the two scores it sets side by side, are of these shared items."
)

EXPLORATORY = (
    "The comparisons of the tasks are exploratory, to show where to look: their p-values were adjusted within each "
    "pair so that, of the differences that are called real, about one in twenty at most is expected to be chance "
    "(Benjamini and Hochberg 1995)."
)

RULE = (
    "A model is called better only if the adjusted p-value is below 0.05 and the 95 % interval of the difference "
    "leaves out 0. Where that does not hold, two models are called practically equal if the whole interval lies within "
    "{margin} of 0, in the metric's own units. In every other case no difference is shown, which does not mean that "
    "there is none."
)

DETECTABLE = (
    "The smallest difference to be shown is the one that a comparison on as many items like these would find in 80 of "
    "100 exams, in the worst case of the adjustment{among}: for rights and wrongs from the exact power of McNemar's "
    "test where the two runs disagree on the observed share of items (Connor 1987), else from the standard error of "
    "the observed difference (Miller 2024)."
)
NEEDED = (
    "The items needed are about how many it would take to show a difference of the observed size in 80 of 100 exams, "
    "by the same reckoning; they take that size for the true one, so they are a rough guide, and are left out where "
    "the difference is smaller than its standard error."
)
CORRELATION = (
    "The correlation of a pair is Pearson's, of the two runs' scores of the same items: the higher it is, the smaller "
    "the difference that the same number of items shows."
)

MEANING = (
    "A p-value here is the probability of a difference at least as large as this one, if either model were as likely "
    "as the other to have given each of the two answers to an item. It is not the probability that the models are "
    "equally good. A large one does not show that they are, and a small one says neither that the difference is large "
    "nor that it holds for other questions, prompts or settings."
)


HOLM = (
    "The p-values of the headlines were adjusted together for {n} comparisons, so that the chance of a wrong "
    '"better" anywhere among them stays below 5 in 100 (Holm 1979).'
)

BESIDE = " These are all pairs of the {models} models with a complete run on these items, also those not shown here."

NAMED = " These are all pairs of the models that were named beforehand, also those not shown here."

WORDS = (SHARED, EXPLORATORY, RULE, DETECTABLE, NEEDED, CORRELATION, MEANING, HOLM, *walked.WORDS)


def how_compared(evaluation: Evaluation) -> Iterator[str]:
    """Sentences on what was computed for the comparisons that are shown; none where nothing was tested."""
    wholes = [c.whole for c in _pairs_tested(evaluation)]
    if not wholes:
        return
    tasks = [d for c in with_the_best(evaluation) for d in c.tasks if d.p_value is not None]
    yield SHARED
    yield from _tested(wholes, tasks)
    yield from walked.how_walked(wholes)
    for method in unique(split(d.estimate.method)[0] for d in (*wholes, *tasks)):
        plain = f"The 95 % intervals of the differences were computed by: {method}."
        yield walked.interval(method) or INTERVALS.get(method, plain)
    yield from _adjusted(wholes, tasks, evaluation.looks)
    if any(state(result.run) != COMPLETE for result in evaluation.results):
        yield "Runs that are not complete were compared on as far as they got."


def how_judged(evaluation: Evaluation) -> Iterator[str]:
    """Sentences on how the comparisons are to be read; none where nothing was tested."""
    tested = _pairs_tested(evaluation)
    if not tested:
        return
    wholes = [c.whole for c in tested]
    yield RULE.format(margin=_margin(tested))
    if any(d.correlation is not None for d in wholes):
        yield CORRELATION
    if any(d.detectable is not None for d in wholes):
        yield DETECTABLE.format(among=among(max(d.comparisons for d in wholes)))
    if any(d.items_needed is not None for d in wholes):
        yield NEEDED
    yield MEANING


def _pairs_tested(evaluation: Evaluation) -> list[Comparison]:
    return [c for c in evaluation.comparisons if c.whole.p_value is not None]


def _tested(wholes: Sequence[Difference], tasks: Sequence[Difference]) -> Iterator[str]:
    """Which test for which metric, then what each test does."""
    for test, metrics in _by_test(wholes).items():
        yield f"The headlines ({', '.join(map(metric_words, metrics))}) were tested by {test}."
    if groups := [f"by {test} ({', '.join(metrics)})" for test, metrics in _by_test(tasks).items()]:
        yield f"The tasks were tested {names_joined(groups)}."
    for test in unique(d.test for d in (*wholes, *tasks)):
        if test in TESTS:
            yield TESTS[test]


def _by_test(shown: Sequence[Difference]) -> dict[str, list[str]]:
    """Test -> the metrics it was used for."""
    found: dict[str, list[str]] = {}
    for d in shown:
        metrics = found.setdefault(d.test, [])
        if d.metric not in metrics:
            metrics.append(d.metric)
    return found


def _adjusted(
    wholes: Sequence[Difference], tasks: Sequence[Difference], looks: Looks | None
) -> Iterator[str]:
    together = sum(1 for d in wholes if d.adjusted_p is not None)
    if looks is not None and looks.pairs > len(wholes):
        whose = NAMED if looks.fixed else BESIDE.format(models=amount(looks.models))
        yield HOLM.format(n=amount(looks.pairs)) + whose
    elif together > 1:
        yield HOLM.format(n=amount(together))
    elif together:
        yield "With a single comparison there was nothing to adjust the p-value of the headline for."
    if tasks:
        yield EXPLORATORY


def _margin(tested: Sequence[Comparison]) -> str:
    margins = unique(margin(c.margin) for c in tested)
    return names_joined(margins)
