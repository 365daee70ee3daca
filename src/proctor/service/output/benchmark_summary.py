"""summary.md of a benchmark: what became of every trial, and what the scored ones show, row by row and task by task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from proctor.figures import amount, dollars, duration, estimate, fraction
from proctor.findings import Estimate
from proctor.references import RolloutsRef
from proctor.service.output.trial_rows import SCORED, TrialInFiles
from proctor.stats.metrics import Scored
from proctor.stats.rollouts.trials import mean_score, passes, success_rate

HEADS = (
    *("agent/model", "success rate", "mean score", "pass@k", "passed / scored / planned"),
    *("not scored", "time", "tokens", "cost"),
)
MOST_VALUES, MOST_SHOWN = 10, 40  # of a custom metric; characters of one
NOT_SCORED = ("sandbox", "verifier", "provider", "cancelled", "running", "pending")


def counts_of(trials: Sequence[TrialInFiles]) -> dict[str, int]:
    """How many trials are planned, how many of them are scored, and how many are in each state."""
    states: Counter[str] = Counter(trial.state for trial in trials)
    scored = sum(states[name] for name in SCORED)
    return {
        "planned": len(trials),
        "scored": scored,
        **{name: states[name] for name in (*SCORED, *NOT_SCORED) if states[name]},
    }


def figures_of(trials: Sequence[TrialInFiles]) -> dict[str, Any]:
    """Success rate, mean score and sums of one task's trials; None where nothing was measured."""
    marks = [_mark(trial) for trial in trials if trial.state in SCORED]
    seconds, tokens, cost = _sums(trials)
    return {
        "success_rate": _value(success_rate(marks)) if marks else None,
        "mean_score": _value(mean_score(marks)) if marks else None,
        "seconds": seconds,
        "tokens": tokens,
        "cost_usd": cost,
    }


def _value(of: Estimate) -> float | None:
    return of.value


def _mark(trial: TrialInFiles) -> Scored:
    row = trial.attempt
    assert row is not None  # of a scored one
    return Scored(
        item=row.item_id,
        task=row.task,
        target=row.target,
        answer=row.answer,
        outcome=row.outcome,
        score=row.score,
        cluster=row.cluster,
        repeat=row.repeat,
        content=row.item_hash,
    )


def _sums(trials: Sequence[TrialInFiles]) -> tuple[float | None, int | None, float | None]:
    rows = [trial.attempt for trial in trials if trial.attempt is not None]
    seconds = [row.latency_s for row in rows if row.latency_s is not None]
    cost = [row.cost_usd for row in rows if row.cost_usd is not None]
    tokens = [trial.tokens for trial in trials if trial.tokens is not None]
    return sum(seconds) if seconds else None, sum(tokens) if tokens else None, sum(cost) if cost else None


def summary(ref: RolloutsRef, trials: Sequence[TrialInFiles]) -> str:
    """The whole file."""
    return (
        "\n".join(
            [
                *_head(ref, trials),
                *_rows(trials),
                *_tasks(trials),
                *_calls(trials),
                *_custom(trials),
                *_unscored(trials),
            ]
        )
        + "\n"
    )


def _head(ref: RolloutsRef, trials: Sequence[TrialInFiles]) -> Iterator[str]:
    counts = counts_of(trials)
    yield f"# {ref.name}, {ref.stamp}"
    yield ""
    if ref.sandbox == "local":
        yield "**Sandbox: local. The agents were not contained; nothing kept them from this machine.**"
        yield ""
    yield f"- config: {ref.config or 'a request'}; sandbox: {ref.sandbox}; image: {ref.image}"
    yield f"- passed means a score of at least {ref.pass_score:g}"
    told = ", ".join(
        f"{name} {count:,}" for name, count in counts.items() if name not in ("planned", "scored")
    )
    yield f"- {counts['planned']:,} trials planned, {counts['scored']:,} scored: {told}"
    yield ""


def _by_row(trials: Sequence[TrialInFiles]) -> Mapping[tuple[str, str], list[TrialInFiles]]:
    rows: dict[tuple[str, str], list[TrialInFiles]] = {}
    for trial in trials:
        rows.setdefault((trial.row, trial.run.id), []).append(trial)
    return rows


def _rows(trials: Sequence[TrialInFiles]) -> Iterator[str]:
    yield "## Agents"
    yield ""
    yield f"| {' | '.join(HEADS)} |"
    yield f"|{'---|' * len(HEADS)}"
    for (row, _), of in _by_row(trials).items():
        marks = [_mark(trial) for trial in of if trial.state in SCORED]
        counts = counts_of(of)
        seconds, tokens, cost = _sums(of)
        lacking = ", ".join(f"{name} {counts[name]}" for name in NOT_SCORED if name in counts)
        cells = [
            row,
            estimate(success_rate(marks)) if marks else "-",
            estimate(mean_score(marks)) if marks else "-",
            "; ".join(f"k={one.k}: {estimate(one.any)}" for one in passes(marks)) or "-" if marks else "-",
            f"{counts.get('passed', 0)} / {counts['scored']} / {counts['planned']}",
            lacking or "none",
            duration(seconds),
            amount(tokens),
            dollars(cost),
        ]
        yield f"| {' | '.join(_cell(each) for each in cells)} |"
    yield ""
    yield "Rates are means over tasks, every task weighing alike, with 95 % intervals over tasks. Trials that are not"
    yield "scored are in none of them."
    yield ""


def _tasks(trials: Sequence[TrialInFiles]) -> Iterator[str]:
    rows = _by_row(trials)
    tasks = dict.fromkeys(trial.task for trial in trials)
    yield "## Tasks"
    yield ""
    yield "passed / scored / planned, and the mean score"
    yield ""
    yield f"| task | {' | '.join(_cell(row) for row, _ in rows)} |"
    yield f"|---|{'---|' * len(rows)}"
    for task in tasks:
        cells = [_of_task([each for each in of if each.task == task]) for of in rows.values()]
        yield f"| {_cell(task)} | {' | '.join(cells)} |"
    yield ""


def _of_task(of: Sequence[TrialInFiles]) -> str:
    if not of:
        return "-"
    counts, figures = counts_of(of), figures_of(of)
    return f"{counts.get('passed', 0)} / {counts['scored']} / {counts['planned']}, {fraction(figures['mean_score'])}"


CALL_HEADS = (
    *("agent/model", "calls", "tokens in", "of them cached", "tokens out", "of no use", "sent again"),
    *("in the model", "in tools"),
)


def _calls(trials: Sequence[TrialInFiles]) -> Iterator[str]:
    """What crossed the wire between agents and models, and where the agents' time went."""
    records = {row: [each.record for each in of if each.record] for (row, _), of in _by_row(trials).items()}
    told = {row: [each for each in of if each.wire] for row, of in records.items()}
    if not any(told.values()):
        return
    yield "## Calls of models"
    yield ""
    yield f"| {' | '.join(CALL_HEADS)} |"
    yield f"|{'---|' * len(CALL_HEADS)}"
    for row, of in told.items():
        wires = [each.wire for each in of if each.wire]
        cells = [
            row,
            amount(sum(each.calls for each in wires)),
            amount(_sum(each.usage.input_tokens for each in wires)),
            amount(_sum(each.cached_tokens for each in wires)),
            amount(_sum(each.usage.output_tokens for each in wires)),
            amount(_sum(each.by_wire["unused_tokens"] for each in of)),
            amount(sum(each.retries for each in wires)),
            duration(sum(each.model_s for each in wires)),
            duration(_sum(each.tools_s for each in of)),
        ]
        yield f"| {' | '.join(_cell(each) for each in cells)} |"
    yield ""


def _sum(values: Iterable[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return sum(known) if known else None


def _custom(trials: Sequence[TrialInFiles]) -> Iterator[str]:
    """What verifiers measured beside the score, as it is: nobody here knows what it means."""
    told: dict[tuple[str, str, str], list[str]] = {}
    for trial in trials:
        for name, value in (trial.record.custom_metrics if trial.record else {}).items():
            shown = f"{value:g}" if isinstance(value, int | float) else str(value)
            told.setdefault((trial.task, trial.row, str(name)), []).append(shown[:MOST_SHOWN])
    if not told:
        return
    yield "## Custom metrics"
    yield ""
    yield "| task | agent/model | metric | of each scored trial |"
    yield "|---|---|---|---|"
    for (task, row, name), values in told.items():
        more = f" and {len(values) - MOST_VALUES} more" if len(values) > MOST_VALUES else ""
        cells = (task, row, name, ", ".join(values[:MOST_VALUES]) + more)
        yield f"| {' | '.join(_cell(each) for each in cells)} |"
    yield ""


def _unscored(trials: Sequence[TrialInFiles]) -> Iterator[str]:
    broken = [trial for trial in trials if trial.error]
    if not broken:
        return
    yield "## Trials that measured nothing"
    yield ""
    for trial in broken:
        first = (trial.error or "").partition("\n")[0]
        yield f"- {trial.run_id} ({_cell(trial.row)} on {_cell(trial.task)}): {trial.state}: {_cell(first)[:300]}"
    yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
