"""`Store.tally`, counted from rows that are in no store: those of an unpacked bundle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from proctor.findings import Speed, Tally
from proctor.store import AttemptRow
from proctor.store.core.attempts import AT_LIMIT
from proctor.types import NOTHING_USED, Outcome, Usage


def tally(rows: Sequence[AttemptRow]) -> Tally:
    """The latest attempts of a run, in any order."""
    settled = [row for row in rows if row.outcome is not Outcome.ERROR]
    counted = Counter(row.outcome for row in rows)
    costs = [row.cost_usd for row in rows if row.cost_usd is not None]
    failed = Counter(row.error_slug or "unknown" for row in rows if row.outcome is Outcome.ERROR)
    return Tally(
        outcomes={outcome.value: counted[outcome] for outcome in Outcome if counted[outcome]},
        answer_rate=_mean([float(row.answer is not None) for row in settled]),
        speed=_speed(settled),
        input_tokens_per_item=_mean(row.input_tokens for row in settled),
        output_tokens_per_item=_mean(row.output_tokens for row in settled),
        reasoning_tokens_per_item=_mean(row.reasoning_tokens for row in settled),
        cost_usd=sum(costs) if costs else None,
        errors=dict(sorted(failed.items())),
        retries=sum(row.retries for row in rows),
        unused=sum(
            (Usage(row.unused_input_tokens, row.unused_output_tokens, row.unused_cost_usd) for row in rows),
            NOTHING_USED,
        ),
        at_limit=sum(row.finish == AT_LIMIT for row in settled),
    )


def _speed(settled: Sequence[AttemptRow]) -> Speed | None:
    wire_s = _mean(row.latency_s for row in settled)
    if wire_s is None:
        return None
    return Speed(
        wire_s=wire_s,
        timed=sum(row.latency_s is not None for row in settled),
        in_flight=_mean(row.in_flight for row in settled),
        wire_tokens_per_s=_rate((row.output_tokens, row.latency_s) for row in settled),
        service_s=_mean(row.service_s for row in settled),
        served=sum(row.service_s is not None for row in settled),
        service_tokens_per_s=_rate((row.output_tokens, row.service_s) for row in settled),
    )


def _rate(told: Iterable[tuple[int | None, float | None]]) -> float | None:
    known = [(tokens, seconds) for tokens, seconds in told if tokens is not None and seconds is not None]
    spent_s = sum(seconds for _, seconds in known)
    return sum(tokens for tokens, _ in known) / spent_s if spent_s else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
