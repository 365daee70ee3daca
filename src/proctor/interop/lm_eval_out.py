"""A run written as lm-evaluation-harness lays its own out: one results file, and the samples of each task."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import orjson

from proctor.errors import ConfigError
from proctor.findings import RunResult, Score
from proctor.interop.lm_eval import file_word
from proctor.references import ExamRef

# proctor's metrics that are the mean of a number of each item -> lm-eval's word.
NAMES = {"accuracy": "acc", "em": "exact_match", "f1": "f1", "mean": "mean"}
WORDS = ("entity", "text")  # kinds of tasks whose f1 is over words, item by item

Record = Mapping[str, Any]


def write_lm_eval(result: RunResult, records: Sequence[Record], folder: Path) -> list[Path]:
    """Write `results_DATE.json` and `samples_TASK_DATE.jsonl`; returns the files.

    `records` are the run's items as `proctor export --format jsonl` gives them; those that ended in an
    error measured nothing and are left out. So is what proctor does not know (the model's dtype, the
    harness's commit). Raises ConfigError if the folder cannot be written.
    """
    date = time.strftime("%Y-%m-%dT%H-%M-%S", time.gmtime(result.run.created_at))
    by_task: dict[str, dict[str, list[Record]]] = {}
    for record in records:
        if record["outcome"] != "error":
            by_task.setdefault(record["task"], {}).setdefault(record["item_id"], []).append(record)
    lines = {task: list(_samples(items, _metrics(result, task))) for task, items in by_task.items()}
    written = {folder / f"results_{date}.json": _pretty(_results(result, lines))}
    for task, samples in lines.items():
        path = folder / f"samples_{file_word(task)}_{date}.jsonl"
        written[path] = b"".join(orjson.dumps(line) + b"\n" for line in samples)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, content in written.items():
            path.write_bytes(content)
    except OSError as error:
        raise ConfigError(f"--output {folder}: {error.strerror}") from error
    return list(written)


def _pretty(document: Mapping[str, Any]) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_INDENT_2)


def _metrics(result: RunResult, task: str) -> list[str]:
    """The task's metrics that each item has a number of."""
    spec = result.run.manifest.facts.tasks.get(task)
    by_words = spec is not None and spec.kind in WORDS
    own = [score.metric for score in result.scores if score.task == task]
    return [metric for metric in own if metric in NAMES and (metric != "f1" or by_words)]


# The results file --------------------------------------------------------------------------------


def _results(result: RunResult, lines: Mapping[str, Sequence[Record]]) -> dict[str, Any]:
    run, facts, model = result.run, result.run.manifest.facts, result.run.cell.model
    shots, prompts = facts.shots or 0, facts.prompts or {}
    name = model.name if model.provider == "lm-eval" else str(model)  # its own logs go back as they came
    return {
        "results": {task: _figures(result, task) for task in lines},
        "group_subtasks": {task: [] for task in lines},
        "configs": {
            task: {"task": task, "num_fewshot": shots, "repeats": run.cell.repeats} for task in lines
        },
        "versions": {task: prompts.get(task, "") for task in lines},
        "n-shot": dict.fromkeys(lines, shots),
        "higher_is_better": {task: {NAMES[m]: True for m in _metrics(result, task)} for task in lines},
        "n-samples": {
            task: {
                "original": facts.full_sizes.get(task) or facts.asked.get(task) or len(samples),
                "effective": len(samples),
            }
            for task, samples in lines.items()
        },
        "config": {
            "model": model.provider,
            "model_args": f"model={model.name}",
            "limit": run.cell.source.limit if isinstance(run.cell.source, ExamRef) else None,
        },
        "date": run.created_at,
        "task_hashes": {task: _task_hash(samples) for task, samples in lines.items()},
        "model_source": model.provider,
        "model_name": name,
        "model_name_sanitized": re.sub(r"[\"<>:/|\\?*\[\]]+", "__", name),
        "total_evaluation_time_seconds": str(run.elapsed_s),
    }


def _figures(result: RunResult, task: str) -> dict[str, Any]:
    """The task's scores, those first that each item has a number of: a reader takes the first for the task's own."""
    found: dict[str, Any] = {"alias": task}
    by_item = _metrics(result, task)
    scores = [score for score in result.scores if score.task == task and score.estimate.value is not None]
    for score in sorted(scores, key=lambda score: score.metric not in by_item):
        name = NAMES[score.metric] if score.metric in by_item else score.metric
        found[f"{name},none"] = score.estimate.value
        found[f"{name}_stderr,none"] = _stderr(score)
    return found


def _stderr(score: Score) -> float | str:
    return "N/A" if score.estimate.stderr is None else score.estimate.stderr


def _task_hash(samples: Sequence[Record]) -> str:
    return _hash("".join(line["doc_hash"] + line["prompt_hash"] + line["target_hash"] for line in samples))


# The samples -------------------------------------------------------------------------------------


def _samples(items: Mapping[str, Sequence[Record]], metrics: Sequence[str]) -> Iterator[dict[str, Any]]:
    """One line an item; an item that was asked several times has all its replies and the mean of its scores."""
    numbers = _doc_ids(items)
    for item in sorted(items, key=numbers.__getitem__):
        records = items[item]
        first = records[0]
        prompt = "\n\n".join(message["content"] for message in first["prompt"])
        target = "" if first["target"] is None else str(first["target"])
        doc = {"id": item, "prompt": first["prompt"], "choices": first["choices"]}
        yield {
            "doc_id": numbers[item],
            "doc": doc,
            "target": target,
            "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": {}}},
            "resps": [[record["reply"] or "" for record in records]],
            "filtered_resps": [first["answer"] or ""],
            # The texts that lm-eval hashes.
            "doc_hash": _hash(json.dumps(doc, indent=2, ensure_ascii=False)),
            "prompt_hash": _hash(prompt),
            "target_hash": _hash(target),
            **{NAMES[metric]: fmean(_score(record, metric) for record in records) for metric in metrics},
        }


def _doc_ids(items: Mapping[str, Sequence[Record]]) -> dict[str, int]:
    """The number in each item's id; where one has none, all get their place in the run, which is as lasting."""
    ends = [re.search(r"/(\d{1,18})$", item) for item in items]
    found = {item: int(end.group(1)) for item, end in zip(items, ends, strict=True) if end}
    if len(set(found.values())) == len(items):
        return found
    return {item: int(records[0]["position"]) for item, records in items.items()}


def _score(record: Record, metric: str) -> float:
    """Right answers are counted by outcome: some tasks keep a finer score beside it."""
    right = record["outcome"] == "correct"
    return float(right) if metric in ("accuracy", "em") else float(record["score"] or 0.0)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
