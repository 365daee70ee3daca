"""What agents' trials show, as lines of text: the success rate first, then every denominator, then what they took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proctor.figures import amount, dollars, duration, estimate, share
from proctor.findings import Estimate
from proctor.trial_findings import PassAt, RunTrials, TaskTrials, TrialCosts, TrialCounts, TrialMatrix


def trial_lines(of: RunTrials) -> Iterator[str]:
    """The figures of one row, the headline first."""
    counts = of.counts
    passed = f"{counts.passed:,} of {counts.scored:,} scored {_trials(counts.scored)} passed"
    yield f"{of.label}  {of.run.source_title}  success rate {_over_tasks(of.success)}; {passed}"
    yield f"  mean score {_over_tasks(of.score)}"
    yield f"  {counts_words(counts)}"
    yield from (f"  {_pass_words(each)}" for each in of.passes)
    yield f"  {spent_words(of.spent)}"


def _over_tasks(of: Estimate) -> str:
    """The task is what counts: each weighs alike, however often it was rolled out."""
    if of.value is None:
        return estimate(of)
    tasks = "1 task" if of.asked == 1 else f"{of.asked:,} tasks"
    some = tasks if of.scored == of.asked else f"{of.scored:,} of {tasks}"
    return f"{estimate(of)}, mean over {some}" if of.asked > 1 else f"{estimate(of)}, of {some}"


def counts_words(of: TrialCounts) -> str:
    """Every denominator: what was planned, what was scored, and what became of the rest.

    >>> counts_words(TrialCounts(12, 9, 6, 2, {"sandbox": 1}))
    '12 trials planned, 9 scored, 1 not scored (sandbox 1), 2 not run; of the scored 2 ended at a limit'
    """
    told = [f"{of.planned:,} {_trials(of.planned)} planned, {of.scored:,} scored"]
    if of.unscored:
        kinds = ", ".join(f"{slug} {n:,}" for slug, n in sorted(of.unscored.items()))
        told.append(f"{sum(of.unscored.values()):,} not scored ({kinds})")
    if of.not_run:
        told.append(f"{of.not_run:,} not run")
    if of.set_aside:
        told.append(f"{of.set_aside:,} not counted, since trials before them were not run")
    limits = f"; of the scored {of.at_limit:,} ended at a limit" if of.at_limit else ""
    return f"{', '.join(told)}{limits}"


def _pass_words(of: PassAt) -> str:
    tasks = f"on {of.any.scored:,} of {of.any.asked:,} {'task' if of.any.asked == 1 else 'tasks'}"
    return f"pass@{of.k} {estimate(of.any)}  pass^{of.k} {estimate(of.all)}  {tasks}"


def spent_words(of: TrialCosts) -> str:
    """Time, tokens and money of a trial, and the price of a success."""
    tokens = [of.per_trial(name) for name in ("input_tokens", "output_tokens")]
    words = [f"{duration(of.per_trial('seconds'))} per trial"]
    if tokens != [None, None]:
        words.append(f"tokens per trial {amount(tokens[0])} in + {amount(tokens[1])} out")
    told = of.told.get("cost_usd", 0)
    part = "" if told in (0, of.trials) else f" for {told:,} of {of.trials:,} trials"
    words.append(f"cost {dollars(of.sums.get('cost_usd'))}{part}")
    if (price := of.per_pass("cost_usd")) is not None:
        words.append(f"{dollars(price)} for each that passed")
    if (time := of.per_pass("seconds")) is not None:
        words.append(f"{duration(time)} for each that passed")
    return " | ".join(words)


def matrix_rows(of: TrialMatrix) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Tasks down, agents across: how many of the scored trials passed; the heads, and a row a task."""
    cells = [of.cells(row) for row in of.rows]
    rows = [
        (task, *(cell_words(column[place]) for column in cells)) for place, (task, _) in enumerate(of.columns)
    ]
    return ("task (passed/scored)", *(row.label for row in of.rows)), rows


COMPARED_HEADS = (
    *("run", "agent", "tasks", "success rate", "mean score", "passed/scored/planned"),
    *("per trial", "tokens in + out", "cost", "cost a success"),
)


def compared_rows(of: Sequence[RunTrials]) -> list[tuple[str, ...]]:
    """A row an agent under COMPARED_HEADS."""
    return [_compared(each) for each in of]


def _compared(of: RunTrials) -> tuple[str, ...]:
    counts, spent = of.counts, of.spent
    tokens = [spent.per_trial(name) for name in ("input_tokens", "output_tokens")]
    price = spent.per_pass("cost_usd")
    return (
        of.run.id[:8],
        of.label,
        f"{of.success.scored:,}",
        estimate(of.success),
        estimate(of.score),
        f"{counts.passed:,}/{counts.scored:,}/{counts.planned:,}",
        duration(spent.per_trial("seconds")),
        "-" if tokens == [None, None] else " + ".join(map(amount, tokens)),
        dollars(spent.sums.get("cost_usd")),
        "-" if price is None else dollars(price),
    )


def cell_words(of: TaskTrials | None) -> str:
    """One agent on one task: passed of scored, and what is missing.

    >>> cell_words(None)
    '-'
    """
    if of is None:
        return "-"
    counts = of.counts
    lacking = [f"{slug} {n:,}" for slug, n in sorted(counts.unscored.items())]
    lacking += [f"{counts.not_run:,} not run"] if counts.not_run else []
    lacking += [f"{counts.at_limit:,} at a limit"] if counts.at_limit else []
    mean = "" if of.score.value is None or not _between(of) else f", score {share(of.score.value)}"
    rest = f" ({', '.join(lacking)})" if lacking else ""
    return f"{counts.passed:,}/{counts.scored:,}{mean}{rest}"


def _between(of: TaskTrials) -> bool:
    """Whether the score says more than the share that passed."""
    return of.score.value != of.success.value


def _trials(n: int) -> str:
    return "trial" if n == 1 else "trials"
