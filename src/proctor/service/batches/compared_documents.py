"""A comparison of outputs as JSON and as rows of a table, for `--json`, `--csv` and the API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from proctor.findings import Estimate, RelativeChange
from proctor.service.batches.compare import BatchComparison, ComparedRequest, OutputPair
from proctor.service.batches.outputs import GivenReply
from proctor.service.batches.verdict import SameGate, verdict

REPLY = ("text", "failure", "finish", "latency_s", "input_tokens", "output_tokens", "cost_usd")


def comparison_document(
    comparison: BatchComparison, rows: Sequence[ComparedRequest] = (), gate: SameGate | None = None
) -> dict[str, Any]:
    """The whole of it; `rows` are the requests that are told one by one."""
    document: dict[str, Any] = {
        "outputs": [{**asdict(each), "total": each.total} for each in comparison.summaries],
        "comparator": comparison.comparator.words,
        "verdict": verdict(comparison),
        "pairs": [
            {"verdict": verdict(comparison, place), **_pair(pair)}
            for place, pair in enumerate(comparison.pairs, 1)
        ],
        "agreement_of_every_two": [[_estimate(cell) for cell in line] for line in comparison.matrix],
        "counts": dict(comparison.counts),
        "tags": dict(comparison.tags),
        "notes": list(comparison.notes),
        "requests": [request_document(row) for row in rows],
    }
    if gate is not None:
        document["gate"] = {**asdict(gate), "passed": gate.passed}
    return document


def _pair(pair: OutputPair) -> dict[str, Any]:
    labels = pair.labels
    return {
        "both": pair.both,
        "counts": dict(pair.counts),
        "tags": dict(pair.tags),
        "requests_differ": {"n": pair.unlike, "first": list(pair.unlike_ids), "not_known": pair.unknown},
        "agreement": _estimate(pair.agreement),
        "kept": _estimate(pair.kept),
        "fields": [{"path": each.path, **(_estimate(each.estimate) or {})} for each in pair.fields],
        "labels": None
        if labels is None
        else {
            "kappa": _estimate(labels.kappa),
            "table": [{"a": one, "b": two, "n": n} for (one, two), n in sorted(labels.table.items())],
        },
        "notes": dict(pair.notes),
        "seconds": _change(pair.seconds),
        "tokens_per_s": _change(pair.tokens_per_s),
        "cost_usd": _change(pair.cost),
    }


def _estimate(of: Estimate | None) -> dict[str, Any] | None:
    return None if of is None else asdict(of)


def _change(of: RelativeChange | None) -> dict[str, Any] | None:
    return None if of is None else asdict(of)


def request_document(row: ComparedRequest) -> dict[str, Any]:
    """One request in all outputs."""
    return {
        "custom_id": row.custom_id,
        "status": row.status,
        "tags": list(row.tags),
        "replies": [_reply(given) for given in row.replies],
        "beside": [
            {
                "status": each.status,
                "tags": list(each.tags),
                "compared": None if each.likeness is None else [each.likeness.one, each.likeness.two],
                "note": None if each.likeness is None else each.likeness.note,
            }
            for each in row.beside
        ],
    }


def _reply(given: GivenReply | None) -> dict[str, Any] | None:
    return None if given is None else {name: getattr(given, name) for name in REPLY}


def table_heads(outputs: int) -> list[str]:
    """The columns of a row of `table_row`: A is the baseline."""
    names = [chr(ord("A") + place) for place in range(outputs)]
    beside = [f"{name} {what}" for name in names[1:] for what in ("status", "tags", "note")]
    return ["custom_id", "status", *beside, *(f"{name} {what}" for name in names for what in REPLY)]


def table_row(row: ComparedRequest) -> Iterator[Any]:
    yield row.custom_id
    yield row.status
    for each in row.beside:
        yield from (each.status, " ".join(each.tags), None if each.likeness is None else each.likeness.note)
    for given in row.replies:
        yield from ((None if given is None else getattr(given, name)) for name in REPLY)
