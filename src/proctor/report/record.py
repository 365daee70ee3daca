"""What the numbers rest on, as tables: the facts of each run and the hashes of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from proctor.figures import amount
from proctor.findings import Evaluation
from proctor.manifest_json import manifest_document
from proctor.report.blocks import Table
from proctor.report.words import began_at, capital, labels, stamp, unique
from proctor.types import Run

# Facts that the run itself knows.
_OWN: Mapping[str, Callable[[Run], str]] = {
    "Run": lambda run: run.id,
    "Continues or repeats run": lambda run: run.parent_id or "",
    "Plan": lambda run: run.plan_id,
    "Status": lambda run: str(run.status),
    "Started": lambda run: stamp(began_at(run) if run.started_at else None),
    # What is known of another tool's log is when it began; it was imported later.
    "Finished": lambda run: stamp(None if run.cell.source.imported else run.finished_at),
    "Askings planned": lambda run: amount(run.planned),
    "Askings with an outcome": lambda run: amount(run.settled),
}

# Manifest keys by the name they are shown under; a dot goes into a nested table. Others follow as they are.
_NAMES: Mapping[str, str] = {
    "proctor": "Version of proctor",
    "suite": "Suite",
    "rows": "Rows",
    "n": "Items",
    "item_set_sha256": "Item set, SHA-256",
    "data_sha256": "Data, SHA-256",
    "seed": "Seed of the order",
    "preset": "Preset",
    "limit": "Limit per task",
    "repeats": "Repeats",
    "style": "Style of the prompts",
    "wording": "Wording",
    "shots": "Worked examples",
    "shuffle": "Choices shuffled",
    "mode": "Mode of answering",
    "schema": "Replies under the schema",
    "prompts": "Prompts",
    "extractor": "Extractor",
    "metric_versions": "Versions of the metrics",
    "aggregate": "Score over all tasks",
    "scored_tasks": "Tasks of the whole suite",
    "model.name": "Model",
    "model.address": "Address",
    "model.digest": "Model digest",
    "model.quantization": "Quantization",
    "model.parameters": "Parameters",
    "model.note": "Note on the model",
    "model.server": "Server",
    "sampling.temperature": "Temperature",
    "sampling.top_p": "Top-p",
    "sampling.top_k": "Top-k",
    "sampling.min_p": "Min-p",
    "sampling.max_tokens": "Most output tokens",
    "sampling.context_tokens": "Context tokens",
    "sampling.seed": "Seed of the replies",
    "sampling.think": "Reasoning",
    "sampling.stop": "Stop sequences",
    "sampling.mode": "Mode of answering",
    "not_sent": "Asked for and not sent",
    "remarks": "Remarks on the server",
    "adjustments": "Adjusted for the server",
    "replies": "Replies from",
}

_NESTED = ("model", "sampling")
# In the table of the data.
_ELSEWHERE = ("tasks", "full_sizes", "asked", "metrics", "categories", "revisions")
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
    flat = dict(_flat(run))
    ordered = [key for key in _NAMES if key in flat]
    ordered += [key for key in flat if key not in _NAMES]
    for key in ordered:
        if value := amount(flat[key]) if key == "n" else written(flat[key]):
            found[_NAMES.get(key, _spelled(key))] = value
    return {name: value for name, value in found.items() if value not in ("", "-")}


def _flat(run: Run) -> Iterator[tuple[str, Any]]:
    many_hashes = len(run.manifest.facts.data_sha256) > _MOST_HASHES
    for key, value in manifest_document(run.manifest).items():
        if key in _ELSEWHERE or (many_hashes and key == "data_sha256"):
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
    # A stop sequence may be a line break, which a page would swallow.
    return str(value) if str(value).strip() else ascii(value) if value else ""


def data_tables(evaluation: Evaluation) -> list[Table]:
    """What is known of each task's rows and metrics, one row a task; once where the runs share it."""
    names = labels(evaluation)
    runs_of: dict[tuple[tuple[str, ...], ...], list[Run]] = {}
    for result in evaluation.results:
        rows = _data_rows(result.run)
        if rows:
            runs_of.setdefault(rows, []).append(result.run)
    caption = "The rows behind the items"
    tables = []
    for (heads, *lines), runs in runs_of.items():
        of = "" if len(runs_of) == 1 else f" of {', '.join(names[run.id] for run in runs)}"
        counts = frozenset(place for place, head in enumerate(heads) if head.startswith("Items"))
        tables.append(Table(f"{caption}{of}", heads, tuple(lines), counts))
    return tables


def _data_rows(run: Run) -> tuple[tuple[str, ...], ...]:
    """The heads, then a row for each task; nothing where no task has a size, a metric or a hash of its own.

    A column that no task has anything in is left out.
    """
    columns = _data_columns(run)
    tasks = unique(task for column in columns.values() for task in column)
    if not tasks:
        return ()
    known = {head: column for head, column in columns.items() if any(column.values())}
    rows = [(task, *(column.get(task) or "-" for column in known.values())) for task in tasks]
    return (("Task", *known), *rows)


def _data_columns(run: Run) -> dict[str, dict[str, str]]:
    """Head -> task -> what stands there."""
    facts = run.manifest.facts
    return {
        "Items in the whole set": {task: amount(n) for task, n in facts.full_sizes.items()},
        "Items of the plan": {task: amount(n) for task, n in facts.asked.items()},
        "Official metrics": {key: ", ".join(task.official) for key, task in facts.tasks.items()},
        "Metrics beside them": {key: ", ".join(task.also) for key, task in facts.tasks.items()},
        "Category": categories_by_task(run),
        "Revision": facts.revisions,
        "SHA-256 of its rows": facts.data_sha256,
    }


def categories_by_task(run: Run) -> dict[str, str]:
    return {task: title for title, tasks in run.manifest.facts.categories.items() for task in tasks}
