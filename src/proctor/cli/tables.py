"""Results as lines of text, whole at every width: a score is never cut."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from proctor.figures import (
    amount,
    besides,
    dollars,
    duration,
    estimate,
    fraction,
    names,
    rate,
    shared_items,
    speed,
    title_of,
    unmeasured,
)
from proctor.findings import Comparison, Evaluation, RunResult, failed_in_short
from proctor.findings.looks import DECIDED
from proctor.manifest import NOT_ENFORCED
from proctor.manifest_json import manifest_document
from proctor.service.kinds import kind_of
from proctor.service.results.advice import advice, askings, goes_on
from proctor.service.rows.trials_words import counts_words, matrix_rows, trial_lines
from proctor.trial_findings import RunTrials, TrialMatrix
from proctor.types import Run

MOST_TASKS = 20  # in one listing
MOST_AGENTS = 8  # beside each other
MOST_CAUSES = 4


def evaluation_lines(
    evaluation: Evaluation, notes: Mapping[str, Sequence[str]] | None = None
) -> Iterator[str]:
    """Per model its scores and how it answered, then the sentence that says what they show.

    `notes` are sentences about what is off in a run, by its id.
    """
    several = len(evaluation.results) > 1
    for result in evaluation.results:
        yield from result_lines(result, fold=several)
        yield from (f"  {note}" for note in (notes or {}).get(result.run.id, ()))
        yield ""
    yield from table_lines([result.trials for result in evaluation.results if result.trials is not None])
    if evaluation.verdict:
        yield evaluation.verdict
        yield from _sharing_lines(evaluation.comparisons)
    runs = [r.run for r in evaluation.results]
    ids = " ".join(run.id[:8] for run in runs)
    # Runs of one plan are shown again by its one id.
    again = runs[0].plan_id[:8] if len(runs) > 1 and len({run.plan_id for run in runs}) == 1 else ids
    yield f"{'Runs' if len(runs) > 1 else 'Run'}: {ids}   (proctor show {again} | proctor report {again})"


def table_lines(trials: Sequence[RunTrials]) -> Iterator[str]:
    """Agents beside each other, task by task; nothing where there are none, or too many for a line."""
    matrix = TrialMatrix.of(trials)
    if not matrix.columns or len(trials) > MOST_AGENTS:
        return
    heads, rows = matrix_rows(matrix)
    yield from columns(rows[:MOST_TASKS], heads)
    if len(rows) > MOST_TASKS:
        yield f"{len(rows) - MOST_TASKS:,} more tasks: --json has them all"
    yield ""


def _sharing_lines(comparisons: Sequence[Comparison]) -> Iterator[str]:
    """Which pairs were not asked the same items, and on how many they are compared."""
    for pair in comparisons:
        if note := shared_items(pair.sharing):
            who = " and ".join(names(pair))
            yield f"{who} are compared {note}."


def result_lines(result: RunResult, *, fold: bool = False) -> Iterator[str]:
    """A run's scores and how it answered. `fold` leaves out the tasks where they would fill the screen."""
    run = result.run
    tasks = {score.task for score in result.scores if score.task}
    folded = fold and len(tasks) > MOST_TASKS
    mark = "  [sample rows, no real score]" if run.manifest.facts.sample else ""
    if result.trials is not None:
        yield from trial_lines(result.trials)
        yield from _beside(result)
        return
    if not result.scores:
        told = answered_words(result) if _of_requests(run) else "nothing was scored"
        yield f"{run.cell.model}  {run.source_title}  {told}{mark}"
    for index, score in enumerate(result.scores):
        if folded and score.task:
            continue
        name = f"{run.cell.model}  " if index == 0 else "  "
        figures = f"{score.metric} {estimate(score.estimate)}  n = {score.estimate.scored:,}"
        yield f"{name}{score.title}  {figures}{mark}"
    if folded:
        yield f"  {len(tasks)} tasks: proctor show {run.id[:8]}"
    yield f"  {run_facts(result)}"
    yield from _beside(result)


def _beside(result: RunResult) -> Iterator[str]:
    """What must be known beside the figures: how it was asked, and what went wrong."""
    run = result.run
    if server := run.manifest.model.server:
        yield f"  served by {server}"
    if spent := besides(result.tally.unused):
        yield f"  {spent}"
    if not_sent := run.manifest.not_sent:
        yield f"  not sent, because the model's protocol or server has no word for it: {', '.join(not_sent)}"
    if changed := run.manifest.adjustments:
        yield f"  changed at the server's wish: {'; '.join(changed)}"
    if held := run.manifest.unenforced:
        yield f"  {held.sentence}; {NOT_ENFORCED}."
    for remark in run.manifest.remarks:
        yield f"  note: {remark}"
    if problems := problem_words(result):
        yield f"  {problems}"
    yield from cause_lines(result)


def run_facts(result: RunResult) -> str:
    """Answer rate, speed, tokens and cost in one line."""
    tally, one = result.tally, "request" if _of_requests(result.run) else "item"
    tokens = "-"
    if tally.input_tokens_per_item is not None or tally.output_tokens_per_item is not None:
        tokens = f"{amount(tally.input_tokens_per_item)} in + {amount(tally.output_tokens_per_item)} out"
        if tally.reasoning_tokens_per_item:
            tokens += f" ({amount(tally.reasoning_tokens_per_item)} of them reasoning)"
    took = speed(tally.speed, f" per {one}")
    if tally.speed and tally.speed.output_tokens_per_s is not None:
        took += f", {rate(tally.speed.output_tokens_per_s)}"
    first = _throughput(result) if one == "request" else f"answer rate {fraction(tally.answer_rate)}"
    return f"{first} | {took} | tokens per {one} {tokens} | cost {dollars(tally.cost_usd)}"


def _of_requests(run: Run) -> bool:
    return kind_of(run.cell.source).holds == "requests"


def _throughput(result: RunResult) -> str:
    """How long it took, all requests together."""
    run, seconds = result.run, result.run.elapsed_s
    each = f", {run.settled / seconds:,.1f} requests/s" if seconds and run.settled else ""
    told = result.output_tokens_per_s
    return f"{duration(seconds)}{each}{'' if told is None else f', {rate(told)} of output'}"


def answered_words(result: RunResult) -> str:
    """How many requests were answered, how the answers ended, and how many failed."""
    run, outcomes = result.run, result.tally.outcomes
    ends = [f"{outcomes[name]:,} {words}" for name, words in _ENDS.items() if outcomes.get(name)]
    told = f" ({', '.join(ends)})" if ends else ""
    failed = sum(result.tally.errors.values())
    return (
        f"{run.settled:,} of {run.planned:,} requests answered{told}"
        f"{f', {failed:,} failed' if failed else ''}"
    )


_ENDS = {"truncated": "cut by the length limit", "refused": "refused", "no_answer": "empty"}


def problem_words(result: RunResult) -> str:
    """What keeps the run from being complete, or ""."""
    run = result.run
    words = []
    if run.partial:
        words.append(f"PARTIAL: {run.settled:,} of {run.planned:,} {askings(run)} have an outcome")
    if run.stopped:
        words.append(run.stopped)
    if run.error:
        # Of a run in which every item failed, the lines below say it in the same words.
        whole = not run.settled and any(cause.said and cause.said in run.error for cause in result.causes)
        words.append(str(run.status) if whole else f"{run.status}: {run.error}")
    return "; ".join(words)


def cause_lines(result: RunResult) -> Iterator[str]:
    """Why items failed, the commonest cause first, each with what to do; what several have in common is said once."""
    run = result.run
    told = ""
    for cause in result.causes[:MOST_CAUSES]:
        yield f"  {cause.in_words(run.planned, askings(run))}"
        if (cure := advice(cause, run)) and cure != told:
            yield f"    -> {cure}"
        told = cure
    if rest := result.causes[MOST_CAUSES:]:
        yield f"  {failed_in_short(rest)}, of other causes (--json has them)"


def on_resume(results: Sequence[RunResult]) -> Iterator[str]:
    """With which command the unfinished ones of the runs go on, and which would only fail again."""
    decided = [r.run.plan_id[:8] for r in results if (r.run.stopped or "").startswith(DECIDED)]
    if decided:
        yield f"To ask the rest all the same: proctor resume {' '.join(dict.fromkeys(decided))} --all"
    results = [r for r in results if r.run.plan_id[:8] not in decided]
    ours = [r for r in results if not r.run.cell.source.imported]  # others only their own tool can ask again
    further = [r.run.id[:8] for r in ours if goes_on(r.run, r.causes)]
    in_vain = [r.run.id[:8] for r in ours if not goes_on(r.run, r.causes)]
    if further:
        yield f"To go on: proctor resume {' '.join(further)}"
    if in_vain:
        yield f"As things are, proctor resume {' '.join(in_vain)} would fail again: mend the cause first."


class Listed(NamedTuple):
    """A run as a list shows it, on this machine or at a server; `failed` is `figures.failed_in_short`."""

    run: str
    created: str
    status: str
    partial: bool
    model: str
    source: str
    score: str
    unmeasured: str
    failed: str


LIST_HEADS = ("run", "created", "status", "model", "source", "score")


def list_lines(runs: Iterable[Listed]) -> Iterator[str]:
    """The table of `proctor list`, here and with --server."""
    return columns([list_row(each) for each in runs], LIST_HEADS)


def list_row(each: Listed) -> tuple[str, ...]:
    """The columns of LIST_HEADS."""
    status = f"{each.status} (partial)" if each.partial and each.status == "completed" else each.status
    failed = f"({each.failed})" if each.failed else ""
    score = ", ".join(filter(None, (each.score, f"{each.unmeasured} {failed}".strip())))
    return (each.run, each.created, status, each.model, each.source, score)


def list_entry(result: RunResult) -> Listed:
    """A run of this machine."""
    run = result.run
    first = result.scores[0] if result.scores else None
    return Listed(
        run=run.id[:8],
        created=time.strftime("%Y-%m-%d %H:%M", time.localtime(run.created_at)),
        status="killed" if run.status == "running" and run.stopped else str(run.status),
        partial=run.partial,
        model=str(run.cell.model),
        source=_source(run),
        score=f"{title_of(first.metric)} {estimate(first.estimate)}" if first else _count_of(run),
        unmeasured=unmeasured(run.unmeasured, run.planned),
        failed=failed_in_short(result.causes),
    )


def _count_of(run: Run) -> str:
    return f"{run.settled:,} of {run.planned:,} answered" if _of_requests(run) else "-"


_REPEATS = {"tasks": "rollouts", "verdicts": "votes"}


def _source(run: Run) -> str:
    """The run's source, and what sets its figures apart from those of other runs on it."""
    facts, mode = run.manifest.facts, run.manifest.mode
    apart = [
        ("sample", facts.sample),
        ("all wordings" if facts.worded else f"wording {facts.wording}", facts.wording not in (None, 1)),
        (f"style {facts.style}", facts.style not in (None, "proctor")),
        (f"{facts.shots} shots", bool(facts.shots)),
        (f"mode {mode}", mode not in (None, "generate")),
        ("its schema not enforced", run.manifest.unenforced is not None),
        (f"shard {run.cell.limits.shard}", run.cell.limits.shard is not None),
        (
            f"{run.cell.repeats} {_REPEATS.get(kind_of(run.cell.source).holds, 'repeats')}",
            run.cell.repeats > 1,
        ),
    ]
    words = ", ".join(word for word, holds in apart if holds)
    return f"{run.source_title} ({words})" if words else run.source_title


def columns(rows: Sequence[Sequence[str]], heads: Sequence[str]) -> Iterator[str]:
    """A plain table, as wide as its contents."""
    table = [tuple(heads), *map(tuple, rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(heads))]
    for row in table:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def manifest_lines(result: RunResult) -> Iterator[str]:
    """What the numbers rest on, one fact a line."""
    run = result.run
    yield f"Run {run.id}  ({run.cell.model}, {run.source_title})"
    yield f"  status: {run.status}{' (partial)' if run.partial else ''}, {run.settled:,} of {run.planned:,} settled"
    if result.trials is not None:
        yield f"  {counts_words(result.trials.counts)}"
    else:
        yield f"  outcomes: {', '.join(f'{name} {n:,}' for name, n in sorted(result.tally.outcomes.items()))}"
        yield from (f"  {fact}" for fact in _speed_facts(result))
    for key, value in _flat(manifest_document(run.manifest)):
        yield f"  {key}: {value}"


def _speed_facts(result: RunResult) -> Iterator[str]:
    """By each clock that was read, and for the run as a whole."""
    told = result.tally.speed
    if told is None:
        return
    yield f"time of a request, on the wire: {speed(told, basis='measured')}, {rate(told.wire_tokens_per_s)}"
    if told.service_s is not None:
        yield f"time of a request, served: {speed(told, basis='server')}, {rate(told.service_tokens_per_s)}"
    yield f"all requests together: {rate(result.output_tokens_per_s)} of output"


def _flat(document: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, object]]:
    for key, value in document.items():
        if value is None or value == [] or key in ("tasks", "full_sizes"):
            continue
        if isinstance(value, Mapping) and len(value) > MOST_TASKS:
            yield f"{before}{key}", f"{len(value)} (--json has them all)"
        elif isinstance(value, Mapping):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", _plain(value)


def _plain(value: object) -> object:
    """As a person writes it.

    >>> _plain(["a", "b"]), _plain(True), _plain(0.5)
    ('a, b', 'yes', 0.5)
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
