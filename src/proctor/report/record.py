"""What the numbers rest on, as tables: the facts of each run and the hashes of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from proctor.figures import amount
from proctor.report.blocks import Table
from proctor.report.methods import data_hashes
from proctor.report.words import capital, labels, stamp, unique
from proctor.types import Evaluation, Run

# Facts that the run itself knows.
_OWN: Mapping[str, Callable[[Run], str]] = {
    "Run": lambda run: run.id,
    "Continues or repeats run": lambda run: run.parent_id or "",
    "Plan": lambda run: run.plan_id,
    "Status": lambda run: str(run.status),
    "Started": lambda run: stamp(run.started_at),
    "Finished": lambda run: stamp(run.finished_at),
    "Items planned": lambda run: amount(run.planned),
    "Items with an outcome": lambda run: amount(run.settled),
}

# Manifest keys by the name they are shown under; a dot goes into a nested table. Others follow as they are.
_NAMES: Mapping[str, str] = {
    "proctor": "Version of proctor",
    "suite": "Suite",
    "rows": "Rows",
    "n": "Items",
    "item_set": "Item set, SHA-256",
    "item_set_sha256": "Item set, SHA-256",
    "data": "Data, SHA-256",
    "data_sha256": "Data, SHA-256",
    "seed": "Seed of the order",
    "preset": "Preset",
    "limit": "Limit per task",
    "repeats": "Repeats",
    "prompts": "Prompts",
    "extractor": "Extractor",
    "metrics": "Metrics",
    "model.name": "Model",
    "model.address": "Address",
    "model.digest": "Model digest",
    "model.quantization": "Quantization",
    "model.parameters": "Parameters",
    "model.note": "Note on the model",
    "sampling.temperature": "Temperature",
    "sampling.top_p": "Top-p",
    "sampling.top_k": "Top-k",
    "sampling.max_tokens": "Most output tokens",
    "sampling.context_tokens": "Context tokens",
    "sampling.seed": "Seed of the replies",
    "sampling.think": "Reasoning",
    "adjustments": "Adjusted for the server",
    "replies": "Replies from",
}

_NESTED = ("model", "sampling")
_ELSEWHERE = ("tasks", "full_sizes")  # in the table of the data
_MOST_HASHES = 1  # more go to the table of the data


def record_tables(evaluation: Evaluation) -> Iterator[Table]:
    """What all runs share, then what differs; one table for a single run."""
    names = labels(evaluation)
    facts = [_facts(result.run) for result in evaluation.results]
    keys = unique(key for table in facts for key in table)
    rows = [(key, *(table.get(key, "-") for table in facts)) for key in keys]
    if len(facts) == 1:
        yield Table(f"Record of {next(iter(names.values()))}", ("Fact", "Value"), tuple(rows))
        return
    shared = tuple((row[0], row[1]) for row in rows if len(set(row[1:])) == 1)
    differing = tuple(row for row in rows if len(set(row[1:])) > 1)
    if shared:
        yield Table("What all runs share", ("Fact", "Value"), shared)
    if differing:
        yield Table("What differs from run to run", ("Fact", *names.values()), differing)


def _facts(run: Run) -> dict[str, str]:
    """Name -> value of everything known; what is unknown is left out."""
    found = {name: fact(run) for name, fact in _OWN.items()}
    flat = dict(_flat(run.manifest))
    ordered = [key for key in _NAMES if key in flat]
    ordered += [key for key in flat if key not in _NAMES]
    for key in ordered:
        found[_NAMES.get(key, _spelled(key))] = written(flat[key])
    return {name: value for name, value in found.items() if value not in ("", "-")}


def _flat(manifest: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    many_hashes = len(data_hashes(manifest)) > _MOST_HASHES
    for key, value in manifest.items():
        if key in _ELSEWHERE or (many_hashes and key in ("data", "data_sha256")):
            continue
        if key in _NESTED and isinstance(value, Mapping):
            yield from ((f"{key}.{inner}", part) for inner, part in value.items())
        else:
            yield key, value


def _spelled(key: str) -> str:
    """A key that has no name of its own here, as words."""
    return capital(key.rpartition(".")[2].replace("_", " "))


def written(value: object) -> str:
    """A value of a manifest; "" for what is not known.

    >>> written({"boolq": "boolq/1"}), written([1, 2]), written(None), written(True), written(0.0)
    ('boolq: boolq/1', '1, 2', '', 'yes', '0')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {written(part)}" for key, part in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(written(part) for part in value)
    return str(value)


def data_tables(evaluation: Evaluation) -> list[Table]:
    """Task, size of its whole set and SHA-256 of its rows; once where the runs share them."""
    names = labels(evaluation)
    rows_of: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for result in evaluation.results:
        rows = _data_rows(result.run.manifest)
        if rows:
            rows_of.setdefault(rows, []).append(names[result.run.id])
    caption = "The rows behind the items"
    heads = ("Task", "Items in the whole set", "SHA-256 of its rows")
    return [
        Table(caption if len(rows_of) == 1 else f"{caption} of {', '.join(who)}", heads, rows, frozenset({1}))
        for rows, who in rows_of.items()
    ]


def _data_rows(manifest: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    hashes, sizes = data_hashes(manifest), manifest.get("full_sizes")
    counts = sizes if isinstance(sizes, Mapping) else {}
    if len(hashes) == 1 and len(counts) == 1:
        return ((next(iter(counts)), amount(next(iter(counts.values()))), next(iter(hashes.values()))),)
    tasks = unique([*counts, *(hashes if len(hashes) > _MOST_HASHES else ())])
    return tuple((task, amount(counts.get(task)), hashes.get(task, "-")) for task in tasks)
