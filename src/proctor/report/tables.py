"""The tables of figures: scores, scores by task, how the models answered, every pair compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from proctor.figures import amount, dollars, duration, estimate, fraction, p_value
from proctor.report.blocks import Table
from proctor.report.words import SAMPLE_MARK, capital, counted, is_sample, labels, metric_name, state
from proctor.types import Comparison, Estimate, Evaluation, RunResult

NONE = "-"

OUTCOMES: Mapping[str, str] = {
    "correct": "Correct",
    "wrong": "Wrong",
    "no_answer": "No answer could be read",
    "truncated": "Cut by the length limit",
    "refused": "Refused",
    "error": "Error, no reply",
}

# Two columns of one score: the value (or why there is none), and its interval.
Pair = tuple[str, str]


def value_and_interval(e: Estimate) -> Pair:
    if e.value is None or e.low is None or e.high is None:
        return (estimate(e) if e.value is None else fraction(e.value)), NONE
    return fraction(e.value), f"[{fraction(e.low)}, {fraction(e.high)}]"


def headlines(evaluation: Evaluation) -> Table:
    """One row a run: its score and how much of the plan it rests on."""
    names = labels(evaluation)
    rows = []
    for result in evaluation.results:
        run = result.run
        mark = f"{state(run)}; {SAMPLE_MARK}" if is_sample(run) else state(run)
        rows.append((names[run.id], *_headline(result), amount(run.planned), mark))
    heads = ("Model", capital(metric_name(evaluation)), "95 % interval", "Scored", "Asked", "Planned", "Run")
    return Table("Score of each model", heads, tuple(rows), frozenset({1, 2, 3, 4, 5}))


def _headline(result: RunResult) -> tuple[str, str, str, str]:
    if not result.scores:
        return "not measured", NONE, NONE, NONE
    e = result.scores[0].estimate
    return (*value_and_interval(e), amount(e.scored), amount(e.asked))


def by_task(evaluation: Evaluation) -> Table | None:
    """Every score of every run, one row a task; None where the headline is the only score."""
    if all(len(result.scores) < 2 for result in evaluation.results):
        return None
    titles: dict[tuple[str, str], str] = {}
    for result in evaluation.results:
        for score in result.scores:
            titles.setdefault((score.task, score.metric), score.title)
    several = len({metric for _, metric in titles}) > 1
    found = [{(s.task, s.metric): s.estimate for s in result.scores} for result in evaluation.results]
    rows = []
    for key, title in titles.items():
        name = title if key[0] else f"All tasks: {title}"
        cells = [name, key[1]] if several else [name]
        rows.append((*cells, *_task_cells([scores.get(key) for scores in found])))
    heads = ["Task", "Metric"] if several else ["Task"]
    first = len(heads)
    heads += _task_heads(evaluation)
    caption = "Score of each task, with its 95 % interval and the items scored"
    return Table(caption, tuple(heads), tuple(rows), frozenset(range(first, len(heads))))


def _task_heads(evaluation: Evaluation) -> list[str]:
    if len(evaluation.results) > 1:
        return [*labels(evaluation).values(), "Scored"]
    return [capital(metric_name(evaluation)), "95 % interval", "Scored", "Asked"]


def _task_cells(found: list[Estimate | None]) -> list[str]:
    if len(found) > 1:
        return [*map(_in_one_cell, found), _scored(found)]
    e = found[0]
    return [NONE] * 4 if e is None else [*value_and_interval(e), amount(e.scored), amount(e.asked)]


def _in_one_cell(e: Estimate | None) -> str:
    if e is None:
        return "not asked"
    return estimate(e) if e.value is None else " ".join(value_and_interval(e))


def _scored(found: list[Estimate | None]) -> str:
    """How many items of a task were scored: one number if it holds for all runs, else one for each."""
    counts = []
    for e in found:
        of = "" if e is None or e.scored == e.asked else f" of {amount(e.asked)}"
        counts.append(NONE if e is None else f"{amount(e.scored)}{of}")
    return counts[0] if len(set(counts)) == 1 else "; ".join(counts)


Fact = Callable[[RunResult], str]

_SPEED: Mapping[str, Fact] = {
    "Errors by kind": lambda r: counted(r.tally.errors) or NONE,
    "Requests sent again": lambda r: amount(r.tally.retries),
    "Answer rate": lambda r: fraction(r.tally.answer_rate),
    "Time of a request": lambda r: duration(r.tally.seconds_per_item),
    "Input tokens per item": lambda r: amount(r.tally.input_tokens_per_item),
    "Output tokens per item": lambda r: amount(r.tally.output_tokens_per_item),
    "Cost": lambda r: dollars(r.tally.cost_usd),
    "Time of the run": lambda r: duration(r.run.elapsed_s or None),
}


def answering(evaluation: Evaluation) -> Table:
    """One column a run: what became of its items, how fast, at what price."""
    results = evaluation.results
    known = {outcome for result in results for outcome in result.tally.outcomes}
    kinds = [*OUTCOMES, *sorted(known - OUTCOMES.keys())]
    rows = [(OUTCOMES.get(kind, kind), *(_outcome(result, kind) for result in results)) for kind in kinds]
    rows += [(name, *(fact(result) for result in results)) for name, fact in _SPEED.items()]
    heads = ("Items and means", *labels(evaluation).values())
    return Table(
        "What became of the items, and what they took", heads, tuple(rows), frozenset(range(1, len(heads)))
    )


def _outcome(result: RunResult, kind: str) -> str:
    """A count; a kind that was not seen was seen 0 times, unless nothing was counted at all."""
    outcomes = result.tally.outcomes
    return amount(outcomes.get(kind, 0)) if outcomes else NONE


def comparisons(evaluation: Evaluation) -> Table | None:
    if not evaluation.comparisons:
        return None
    names = labels(evaluation)
    heads = (
        "Pair, first and second",
        "First minus second",
        "95 % interval",
        "Shared items",
        "Both right",
        "Only first right",
        "Only second right",
        "p",
        "p adjusted",
        "Verdict",
    )
    rows = tuple(_compared(c, names) for c in evaluation.comparisons)
    return Table("Every pair of models, on the items both have scored", heads, rows, frozenset(range(1, 9)))


def _compared(c: Comparison, names: Mapping[str, str]) -> tuple[str, ...]:
    first = names.get(c.first.id, str(c.first.cell.model))
    second = names.get(c.second.id, str(c.second.cell.model))
    verdicts = {"first better": f"{first} better", "second better": f"{second} better"}
    counts = (c.shared, c.both_right, c.only_first, c.only_second)
    return (
        f"{first} and {second}",
        *value_and_interval(c.difference),
        *(amount(n) for n in counts),
        _p(c.p_value),
        _p(c.adjusted_p),
        verdicts.get(c.verdict, c.verdict),
    )


def _p(p: float | None) -> str:
    """A p-value for a column headed "p"."""
    return NONE if p is None else p_value(p).removeprefix("p ").removeprefix("= ")
