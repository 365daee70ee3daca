"""What a bundle holds, as records: how runs, items and replies are written into it and read out again."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import orjson

from proctor.errors import ConfigError, DataError
from proctor.findings import METRIC_VERSIONS, Evaluation, RunResult
from proctor.grading.formats import Label
from proctor.manifest_json import manifest_document, manifest_from
from proctor.plan import cell_from_json, cell_to_json
from proctor.service.data.counted import tally
from proctor.service.evidence.evaluation import evaluation
from proctor.service.looks.ledger import TriedBeside
from proctor.service.results import documents
from proctor.service.results.answer_kinds import kept_as_they_are, kind_told
from proctor.service.results.results import marks, shape
from proctor.service.results.speeds import with_clock
from proctor.service.rows.trials import trials_of
from proctor.stats.estimates import scores
from proctor.store import AttemptRow, reply_of
from proctor.store.core import bodies
from proctor.store.core.bodies import clean
from proctor.types import Item, Outcome, Reply, Run, Status, TaskFolder

FORMAT = 2  # raised when a bundle can no longer be read by programs that knew the one before
ANSWER_CHARACTERS = 200  # of targets and answers, as the store's narrow rows have them

HEAD, RESULTS, README, SUMS = "bundle.json", "results.json", "README.txt", "SHA256SUMS"
MANIFEST, ITEMS, REPLIES = "manifest.json", "items.jsonl", "replies.jsonl"

Labels = Mapping[str, tuple[Label, ...]]
Types = tuple[type, ...]
_TEXT, _NUMBER, _COUNT = (str, type(None)), (float, int, type(None)), (int, type(None))

ITEM_KEYS: Mapping[str, Types] = {
    "id": (str,),
    "hash": (str,),
    "task": (str,),
    "target": _TEXT,
    "choices": (list,),
    "aliases": (list,),
    "options": (list,),
    "cluster": _TEXT,
}
# What the model was shown: messages, or a request as it was sent. A bundle without prompts has none of it.
SHOWN: Mapping[str, Types] = {
    "prompt": (list,),
    "url": (str,),
    "body": (str,),
    "model": _TEXT,
    "folder": (dict,),
}
# Of a run's facts, those that are compared, counted with or printed.
RUN_KEYS: Mapping[str, Types] = {
    "id": (str,),
    "plan_id": (str,),
    "source_title": (str,),
    "planned": (int,),
    "settled": (int,),
    "stopped": _TEXT,
    "manifest": (dict,),
}
REPLY_KEYS: Mapping[str, Types] = {
    "item": (str,),
    "hash": (str,),
    "position": (int,),
    "repeat": (int,),
    "attempt": (int,),
    "at": (float, int),
    "outcome": (str,),
    "answer": _TEXT,
    "rung": _COUNT,
    "score": _NUMBER,
    "text": _TEXT,
    "reasoning": _TEXT,
    "finish": _TEXT,
    "first_token": (list,),
    "input_tokens": _COUNT,
    "output_tokens": _COUNT,
    "reasoning_tokens": _COUNT,
    "latency_s": _NUMBER,
    "cost_usd": _NUMBER,
    "retries": (int,),
    "error_slug": _TEXT,
    "error": _TEXT,
    "service_s": _NUMBER,
    "in_flight": _NUMBER,
    "unused_input_tokens": _COUNT,
    "unused_output_tokens": _COUNT,
    "unused_cost_usd": _NUMBER,
}
# Of replies; bundles of format 1 have none of them.
LATER_KEYS = ("service_s", "in_flight", "unused_input_tokens", "unused_output_tokens", "unused_cost_usd")
LATER_FIGURES = (
    "speed",
    "run_output_tokens_per_s",
    "unused",
    "trials",
    "graded",
)  # of runs in results.json, likewise
# Facts of a run that stand in its manifest.json; results.json has only those that its figures need.
RUN_FACTS = frozenset({"run_id", "model", "source_title", "partial", "planned", "settled"})


def folder(run_id: str) -> str:
    return f"runs/{run_id}"


def to_line(record: Mapping[str, Any]) -> bytes:
    return to_bytes(record) + b"\n"


def to_bytes(record: Mapping[str, Any], *, indent: bool = False) -> bytes:
    try:
        return orjson.dumps(record, option=orjson.OPT_INDENT_2 if indent else None)
    except TypeError:
        # A model may say half a surrogate pair, which the standard library keeps, as \udXXX.
        return json.dumps(record, indent=2 if indent else None).encode("ascii")


def from_bytes(body: bytes, where: str) -> dict[str, Any]:
    """Raises DataError unless it is a JSON object."""
    try:
        record = orjson.loads(body)
    except orjson.JSONDecodeError:
        try:
            record = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{where}: not JSON ({error})") from None
    if not isinstance(record, dict):
        raise DataError(f"{where}: expected a JSON object")
    return record


def checked(record: Mapping[str, Any], keys: Mapping[str, Types], where: str) -> None:
    """Raises DataError naming a key that is missing, unknown or of the wrong type."""
    if lost := sorted(keys.keys() - record.keys()):
        raise DataError(f"{where}: the key {lost[0]!r} is missing")
    if unknown := sorted(record.keys() - keys.keys()):
        raise DataError(f"{where}: unknown key {unknown[0]!r}")
    for key, types in keys.items():
        # A bool is an int to Python, but not a count.
        if not isinstance(record[key], types) or isinstance(record[key], bool):
            raise DataError(f"{where}: {key} is {type(record[key]).__name__}")


# Runs --------------------------------------------------------------------------------------------


def run_record(run: Run, labels: Labels | None) -> dict[str, Any]:
    """`labels` are those of a file's tasks, with their synonyms, which nothing else in a bundle knows."""
    facts = {field.name: getattr(run, field.name) for field in fields(Run)}
    facts |= {"status": run.status.value, "manifest": manifest_document(run.manifest)}
    facts["cell"] = json.loads(cell_to_json(run.cell))
    known = (
        None
        if labels is None
        else {
            task: [[each.name, list(each.synonyms), each.shown] for each in of] for task, of in labels.items()
        }
    )
    return {"run": facts, "labels": known}


def run_from(record: Mapping[str, Any], where: str) -> tuple[Run, Labels | None]:
    """Raises DataError."""
    checked(record, {"run": (dict,), "labels": (dict, type(None))}, where)
    try:
        facts = dict(record["run"])
        checked({key: facts[key] for key in RUN_KEYS}, RUN_KEYS, where)
        facts |= {"status": Status(facts["status"]), "cell": cell_from_json(json.dumps(facts["cell"]))}
        facts["manifest"] = manifest_from(facts["manifest"])
        run = Run(**facts)
        _check_metrics(run)
        labels = record["labels"]
        if labels is not None:
            labels = {
                task: tuple(Label(name, tuple(others), shown) for name, others, shown in of)
                for task, of in labels.items()
            }
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, ConfigError, DataError) as error:
        raise DataError(f"{where}: not a run as this version of proctor writes it ({error})") from None
    return run, labels


def _check_metrics(run: Run) -> None:
    """What the statistics need is all there. Raises: ConfigError, ValueError for a metric that is not known."""
    for key, task in run.manifest.facts.tasks.items():
        if not kept_as_they_are(run):
            kind_told(run, key)
        if unknown := [metric for metric in task.metrics if metric not in METRIC_VERSIONS]:
            raise ValueError(f"task {key} is scored by {unknown[0]!r}")


# Items and replies -------------------------------------------------------------------------------


def item_record(row: AttemptRow, item: Item, *, prompt: bool) -> dict[str, Any]:
    """What reading and scoring need of an item. The row knows its id, task and cluster better than a shared body."""
    record = bodies.item_record(item)
    del record["group"]  # the row's task stands for it
    if isinstance(item.ask, TaskFolder):
        record["folder"] = record["task"]
    if not prompt:
        for shown in SHOWN:
            record.pop(shown, None)
    return {**record, "id": row.item_id, "hash": row.item_hash, "task": row.task, "cluster": row.cluster}


def item_from(record: Mapping[str, Any], where: str) -> Item:
    """Raises DataError."""
    keys = {**ITEM_KEYS, **{name: types for name, types in SHOWN.items() if name in record}}
    checked(record, keys, where)
    if not all(isinstance(text, str) for key in ("choices", "aliases", "options") for text in record[key]):
        raise DataError(f"{where}: choices, aliases and options are lists of texts")
    try:
        asked = {"task": record["folder"]} if "folder" in record else {"prompt": record.get("prompt", ())}
        plain = {key: value for key, value in record.items() if key not in ("task", "folder")}
        return bodies.item_from({**plain, **asked, "group": record["task"]}, record["hash"])
    except (TypeError, ValueError):
        raise DataError(f"{where}: a prompt is a list of [role, text]") from None


def reply_record(row: AttemptRow, said: Mapping[str, Any], *, trial: bool = False) -> dict[str, Any]:
    """An attempt with what was said in it; `said` is its payload. A trial's record stands beside its patch."""
    record = {"record": orjson.loads(said["raw"])} if trial and said.get("raw") else {}
    return {
        **record,
        "item": row.item_id,
        "hash": row.item_hash,
        "outcome": row.outcome.value,
        "first_token": list(said.get("first_token") or ()),
        **{key: said.get(key) for key in ("text", "reasoning", "finish", "error")},
        **{
            key: getattr(row, key)
            for key in REPLY_KEYS
            if key not in ("item", "hash", "outcome", "first_token", "text", "reasoning", "finish", "error")
        },
    }


def reply_from(
    record: Mapping[str, Any], items: Mapping[tuple[str, str], Item], where: str
) -> tuple[AttemptRow, Reply | None]:
    """Raises DataError; also for an item that `items` lacks, by id and hash."""
    record = {**dict.fromkeys(LATER_KEYS), **record}
    raw = record.pop("record", None)
    checked(record, REPLY_KEYS, where)
    item = items.get((record["item"], record["hash"]))
    if item is None:
        raise DataError(f"{where}: {ITEMS} has no item {record['item']!r} with hash {record['hash']!r}")
    taken = [f.name for f in fields(AttemptRow) if f.name in REPLY_KEYS and f.name != "outcome"]
    try:
        row = AttemptRow(
            item_id=item.id,
            item_hash=item.hash,
            task=item.group,
            target=clean(item.target, ANSWER_CHARACTERS),
            cluster=item.cluster,
            outcome=Outcome(record["outcome"]),
            **{name: record[name] for name in taken},
        )
        reply = replace(reply_of(record, row), raw=b"" if raw is None else orjson.dumps(raw))
    except (TypeError, ValueError) as error:
        raise DataError(f"{where}: {error}") from None
    return row, None if record["text"] is None else reply


# What the rows show ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The attempts of a bundle's runs, found as in the store, and where to look for an item by its hash."""

    rows: Mapping[str, Sequence[AttemptRow]]  # by run id, in the order of asking
    look: Callable[[str], Item]

    def latest(self, run_id: str) -> Iterator[AttemptRow]:
        return iter(self.rows[run_id])

    def item(self, digest: str) -> Item:
        return self.look(digest)


def recomputed(kept: Snapshot, runs: Sequence[Run], tried: TriedBeside | None = None) -> Evaluation:
    """Everything that the rows show, beside what was tried. Raises ConfigError for runs that cannot be compared."""
    tallies = [with_clock(tally(list(kept.latest(run.id))), run.manifest.server_clock) for run in runs]
    results = [
        RunResult(run, scores(marks(kept, run), shape(run)), counts, trials=trials_of(kept, run))
        for run, counts in zip(runs, tallies, strict=True)
    ]
    return evaluation(kept, results, ledger=tried)


def results_document(found: Evaluation, tried: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The figures of results.json: what `--json` shows, without the facts of runs that manifest.json has."""
    document = documents.evaluation(found)
    runs = []
    for result, record in zip(found.results, document["runs"], strict=True):
        left_out = (documents.run(result.run).keys() - RUN_FACTS) | {"score"}
        runs.append({key: value for key, value in record.items() if key not in left_out})
    whole = {"runs": runs, "comparisons": document["comparisons"], "verdict": document["verdict"]}
    return whole if tried is None else {**whole, "tried": tried}


def as_told(told: Mapping[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Recomputed results without the figures that a bundle's version did not have."""
    for record, fresh in zip(told.get("runs") or (), found["runs"], strict=False):
        for name in LATER_FIGURES:
            if isinstance(record, dict) and name not in record:
                fresh.pop(name, None)
    return found


# Two documents -----------------------------------------------------------------------------------


def figures(document: Any) -> int:
    """How many numbers a document holds."""
    if isinstance(document, dict):
        return sum(figures(value) for value in document.values())
    if isinstance(document, list):
        return sum(figures(value) for value in document)
    return int(isinstance(document, int | float) and not isinstance(document, bool))


def differing(told: Any, found: Any, where: str) -> Iterator[str]:
    """Each place where two documents are not the same: numbers to 1e-9, all else exactly."""
    if isinstance(told, dict) and isinstance(found, dict):
        for key in dict.fromkeys([*found, *told]):
            yield from differing(told.get(key), found.get(key), f"{where}, {key}")
    elif isinstance(told, list) and isinstance(found, list) and len(told) == len(found):
        for number, (one, other) in enumerate(zip(told, found, strict=True), 1):
            yield from differing(one, other, f"{where}{_named(other, number)}")
    elif not _same(told, found):
        yield f"{where}: the bundle says {_short(told)}, its replies give {_short(found)}"


def _named(record: Any, number: int) -> str:
    """How to call an entry of a list: by what it says of itself."""
    words = [
        str(record[key])
        for key in ("run_id", "model", "first_model", "second_model", "title", "metric")
        if isinstance(record, dict) and record.get(key)
    ]
    return f" {number} ({' '.join(words)})" if words else f" {number}"


def _same(told: Any, found: Any) -> bool:
    numbers = (int, float)
    if isinstance(told, numbers) and isinstance(found, numbers):
        try:
            return math.isclose(told, found, rel_tol=1e-9, abs_tol=1e-9)
        except OverflowError:  # a whole number beyond what floats hold
            return told == found
    return bool(told == found)


def _short(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, list):
        return f"{len(value)} entries"
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:199]}…"
