"""What a run looks like as a whole: outcomes task by task, how long answers took, how grades lie; counted once."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from proctor.findings import Histogram, Speed, Tally
from proctor.service.context import Context
from proctor.service.results.speeds import with_clock
from proctor.stats.descriptive.histograms import graded, growing, quantiles
from proctor.store import Store
from proctor.store.write import summaries
from proctor.types import Outcome, Run, Usage


@dataclass(frozen=True, slots=True)
class Profile:
    """Latencies in seconds, their quantiles by name (p50, p95, p99); None where none was measured.

    `tasks` has the outcomes of each task, in the order of asking.
    """

    tasks: Mapping[str, Mapping[str, int]]
    latency: Histogram | None = None
    quantiles: Mapping[str, float] = field(default_factory=dict)
    grades: Histogram | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


def profile_of(context: Context, run: Run) -> Profile:
    """From the kept summary if the run has ended and has one, else counted now."""
    kept = summaries.get(context.store, run.id) if run.finished_at else None
    return _from(kept["profile"]) if kept else _counted(context.store, run.id)


def summary_of(store: Store, run: Run, tally: Tally) -> dict[str, Any]:
    """What pages show of an ended run, counted now, as it is kept beside its row."""
    return {"tally": asdict(tally), "profile": asdict(_counted(store, run.id))}


def has_summary(store: Store, run: Run) -> bool:
    return summaries.get(store, run.id) is not None


def tally_of(store: Store, run: Run) -> Tally:
    """The kept tally if the run has ended and has one, else counted now."""
    kept = summaries.get(store, run.id) if run.finished_at else None
    return _tally(kept["tally"]) if kept else counted_tally(store, run)


def speed_of(summary: Mapping[str, Any]) -> Speed | None:
    """How long an ended run's requests took, by its kept summary."""
    return _tally(summary["tally"]).speed


def counted_tally(store: Store, run: Run) -> Tally:
    """The tally by the rows of now, with what the server's clock says of the run."""
    return with_clock(store.tally(run.id), run.manifest.server_clock)


def _tally(record: Mapping[str, Any]) -> Tally:
    """A tally as it was kept. Older versions kept the time on the wire alone, which is all they had."""
    facts = {
        name: value for name, value in record.items() if name not in ("speed", "seconds_per_item", "unused")
    }
    told, wire_s = record.get("speed"), record.get("seconds_per_item")
    outcomes = record["outcomes"]
    settled = sum(outcomes.values()) - outcomes.get(Outcome.ERROR.value, 0)
    speed = Speed(**told) if told else None if wire_s is None else Speed(wire_s, settled)
    unused = Usage(**record.get("unused", {}))  # which older versions did not count
    return Tally(**facts, speed=speed, unused=unused)


def _counted(store: Store, run_id: str) -> Profile:
    tasks: dict[str, Counter[str]] = {}
    latencies, scores = array("d"), array("d")
    tokens: dict[str, int | None] = {"input_tokens": None, "output_tokens": None}
    for rows in summaries.measured(store, run_id):
        for row in rows:
            tasks.setdefault(row.task, Counter())[row.outcome] += 1
            if row.latency_s is not None:
                latencies.append(row.latency_s)
            if row.score is not None:
                scores.append(row.score)
        for name in tokens:
            known = [value for row in rows if (value := getattr(row, name)) is not None]
            if known:
                tokens[name] = (tokens[name] or 0) + sum(known)
    return Profile(
        tasks={task: {o.value: found[o] for o in Outcome if found[o]} for task, found in tasks.items()},
        latency=growing(latencies),
        quantiles=quantiles(latencies),
        grades=graded(scores),
        **tokens,
    )


def _from(record: Mapping[str, Any]) -> Profile:
    drawn = {
        name: None
        if record[name] is None
        else Histogram(tuple(record[name]["edges"]), tuple(record[name]["counts"]))
        for name in ("latency", "grades")
    }
    return Profile(**{**record, **drawn})
