"""The tables of figures: scores with what they took, scores by task, how the models answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from proctor.figures import amount, besides, dollars, duration, estimate, fraction, rate, speed, unmeasured
from proctor.findings import Basis, Estimate, Evaluation, RunResult, Score
from proctor.manifest import TaskSpec
from proctor.report.blocks import Table
from proctor.report.pairs import NONE, value_and_interval
from proctor.report.record import categories_by_task
from proctor.report.words import (
    SAMPLE_MARK,
    capital,
    counted,
    is_sample,
    items_planned,
    labels,
    metric_name,
    state,
    unique,
)

# Outcomes that most runs cannot have: shown where one had them.
RARE = frozenset({"answered"})

OUTCOMES: Mapping[str, str] = {
    "correct": "Correct",
    "wrong": "Wrong",
    "answered": "Answered, neither right nor wrong",
    "no_answer": "No answer could be read",
    "truncated": "Cut by the length limit",
    "refused": "Refused",
    "error": "Error, no reply",
}


def headlines(evaluation: Evaluation) -> Table:
    """One row a run: its score, how much of the plan it rests on, and its time and cost."""
    names = labels(evaluation)
    # Two runs may have headlines of different names: one of all tasks, one of some.
    several = len({result.scores[0].metric for result in evaluation.results if result.scores}) > 1
    rows = []
    for result in evaluation.results:
        run = result.run
        lost = unmeasured(run.unmeasured, run.planned)
        mark = "; ".join(filter(None, (state(run), lost, SAMPLE_MARK if is_sample(run) else "")))
        took = (_time(result, evaluation.clock), dollars(result.tally.cost_usd))
        metric = [result.scores[0].metric if result.scores else NONE] if several else []
        rows.append((names[run.id], *metric, *_headline(result), amount(items_planned(run)), *took, mark))
    counts = ("Scored", "Asked", "Planned")
    heads = (
        "Model",
        *(["Metric"] if several else []),
        capital(metric_name(evaluation)),
        "95 % interval",
        *counts,
        TIME,
        "Cost",
        "Run",
    )
    # A time with its words may break; what is all digits may not.
    numbers = frozenset(range(len(heads) - 8, len(heads) - 1)) - {heads.index(TIME)}
    return Table("Score of each model", heads, tuple(rows), numbers)


def _time(result: RunResult, shared: Basis | None) -> str:
    told = result.tally.speed
    return NONE if told is None else speed(told, basis=told.told_by(shared))


def _headline(result: RunResult) -> tuple[str, str, str, str]:
    if not result.scores:
        return "not measured", NONE, NONE, NONE
    e = result.scores[0].estimate
    return (*value_and_interval(e), amount(e.scored), amount(e.asked))


def by_task(evaluation: Evaluation) -> Table | None:
    """Every score of every run, those over all tasks on top; None where the headline is the only score."""
    if all(len(result.scores) < 2 for result in evaluation.results):
        return None
    titles = _titles(evaluation)
    several = len({metric for _, metric in titles}) > 1
    found = [{(s.task, s.metric): s.estimate for s in result.scores} for result in evaluation.results]
    rows = []
    for key, name in titles.items():
        cells = list(name) if several else [name[0]]
        rows.append((*cells, *_task_cells([scores.get(key) for scores in found])))
    heads = ["Task", "Metric"] if several else ["Task"]
    first = len(heads)
    heads += _task_heads(evaluation, "Value" if several else capital(metric_name(evaluation)))
    caption = "Score of each task, with its 95 % interval and the items scored"
    return Table(caption, tuple(heads), tuple(rows), frozenset(range(first, len(heads))))


Key = tuple[str, str]  # task ("" for all) and metric


def _titles(evaluation: Evaluation) -> dict[Key, tuple[str, str]]:
    """The rows in their order, from their keys to the names of task and metric.

    First what is over all tasks, then task by task its official metrics and those beside them.
    """
    names: dict[Key, tuple[str, str]] = {}
    specs: dict[str, TaskSpec] = {}
    for result in evaluation.results:
        specs = {**result.run.manifest.facts.tasks, **specs}
        groups = set(categories_by_task(result.run).values())
        for score in result.scores:
            names.setdefault((score.task, score.metric), _named(score, groups))
    tasks = unique([*specs, *(task for task, _ in names)])

    def place(key: Key) -> tuple[int, int]:
        task, metric = key
        known = specs[task].metrics if task in specs else ()
        where = known.index(metric) if metric in known else len(known)
        return (tasks.index(task) if task else -1), where

    return {key: names[key] for key in sorted(names, key=place)}


def _named(score: Score, groups: Iterable[str]) -> tuple[str, str]:
    """What the first two columns say: the category's name stands in its metric's, "STEM accuracy"."""
    if score.task:
        return score.title, score.metric
    for group in groups:
        if score.metric.startswith(f"{group} "):
            return f"Category: {group}", score.metric.removeprefix(f"{group} ")
    return "All tasks", score.metric


def _task_heads(evaluation: Evaluation, value: str) -> list[str]:
    if len(evaluation.results) > 1:
        return [*labels(evaluation).values(), "Scored"]
    return [value, "95 % interval", "Scored", "Asked"]


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

REASONING = "Of these, reasoning tokens"
TIME = "Time of a request"
ON_THE_WIRE = "Time of a request on the wire, waiting included"
RATE, RATE_OF_ALL = "Output tokens of a request per second", "Output tokens of all requests per second"
UNUSED = "Besides, for replies that do not count"
# Rows that are left out where no run knows them.
_IF_KNOWN = frozenset({REASONING, UNUSED, ON_THE_WIRE, RATE, RATE_OF_ALL})
_SPEED: Mapping[str, Fact] = {
    "Errors by kind": lambda r: counted(r.tally.errors) or NONE,
    "Requests sent again": lambda r: amount(r.tally.retries),
    "Answer rate": lambda r: fraction(r.tally.answer_rate),
    TIME: lambda r: speed(r.tally.speed),
    ON_THE_WIRE: lambda r: NONE if _clock(r) != "server" else speed(r.tally.speed, basis="measured"),
    RATE: lambda r: rate(r.tally.speed.output_tokens_per_s if r.tally.speed else None),
    RATE_OF_ALL: lambda r: rate(r.output_tokens_per_s),
    "Input tokens per item": lambda r: amount(r.tally.input_tokens_per_item),
    "Output tokens per item": lambda r: amount(r.tally.output_tokens_per_item),
    REASONING: lambda r: amount(r.tally.reasoning_tokens_per_item),
    "Cost": lambda r: dollars(r.tally.cost_usd),
    UNUSED: lambda r: besides(r.tally.unused).partition(": ")[2] or NONE,
    "Time of the run": lambda r: duration(r.run.elapsed_s or None),
}


def _clock(result: RunResult) -> Basis | None:
    return result.tally.speed.basis if result.tally.speed else None


def answering(evaluation: Evaluation) -> Table:
    """One column a run: what became of its items, how fast, at what price."""
    results = evaluation.results
    known = {outcome for result in results for outcome in result.tally.outcomes}
    usual = [kind for kind in OUTCOMES if kind not in RARE or _seen(results, kind)]
    kinds = [*usual, *sorted(known - OUTCOMES.keys())]
    rows = [(OUTCOMES.get(kind, kind), *(_outcome(result, kind) for result in results)) for kind in kinds]
    facts = [(name, *(fact(result) for result in results)) for name, fact in _SPEED.items()]
    rows += [row for row in facts if row[0] not in _IF_KNOWN or set(row[1:]) != {NONE}]
    once = all(items_planned(result.run) == result.run.planned for result in results)
    heads = ("Items and means" if once else "Askings and means", *labels(evaluation).values())
    return Table(
        "What became of the items, and what they took", heads, tuple(rows), frozenset(range(1, len(heads)))
    )


def _seen(results: Sequence[RunResult], kind: str) -> bool:
    return any(result.tally.outcomes.get(kind) for result in results)


def _outcome(result: RunResult, kind: str) -> str:
    """A count; a kind that was not seen was seen 0 times, unless nothing was counted at all."""
    outcomes = result.tally.outcomes
    return amount(outcomes.get(kind, 0)) if outcomes else NONE
