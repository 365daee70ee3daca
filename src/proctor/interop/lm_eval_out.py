"""A run written as lm-evaluation-harness lays its own out: one results file, and the samples of each task."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import orjson

from proctor.errors import ConfigError
from proctor.findings import RunResult, Score

NAMES = {"accuracy": "acc", "em": "exact_match"}  # proctor's word -> lm-eval's


def write_lm_eval(result: RunResult, records: Sequence[Mapping[str, Any]], folder: Path) -> list[Path]:
    """Write `results_DATE.json` and `samples_TASK_DATE.jsonl`; returns the files.

    `records` are the run's items as `proctor export --format jsonl` gives them. What proctor does not
    know (the model's dtype, the harness's commit) is left out. Raises ConfigError if the folder cannot
    be written.
    """
    date = time.strftime("%Y-%m-%dT%H-%M-%S", time.gmtime(result.run.created_at))
    by_task: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
    for record in records:
        if record["outcome"] != "error":
            by_task.setdefault(record["task"], {}).setdefault(record["item_id"], []).append(record)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        written = [folder / f"results_{date}.json"]
        written[0].write_bytes(orjson.dumps(_results(result, by_task), option=orjson.OPT_INDENT_2))
        for task, items in by_task.items():
            path = folder / f"samples_{task}_{date}.jsonl"
            metrics = [NAMES[s.metric] for s in result.scores if s.task == task and s.metric in NAMES]
            path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in _samples(items, metrics)))
            written.append(path)
    except OSError as error:
        raise ConfigError(f"--output {folder}: {error.strerror}") from error
    return written


def _results(result: RunResult, by_task: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    run, manifest = result.run, result.run.manifest
    scores = {task: [score for score in result.scores if score.task == task] for task in by_task}
    return {
        "results": {task: _figures(task, scores[task]) for task in by_task},
        "group_subtasks": {task: [] for task in by_task},
        "configs": {
            task: {"task": task, "num_fewshot": manifest.get("shots") or 0, "repeats": run.cell.repeats}
            for task in by_task
        },
        "versions": {task: str((manifest.get("prompts") or {}).get(task, "")) for task in by_task},
        "n-shot": {task: manifest.get("shots") or 0 for task in by_task},
        "n-samples": {
            task: {
                "original": (manifest.get("full_sizes") or {}).get(task) or len(items),
                "effective": len(items),
            }
            for task, items in by_task.items()
        },
        "config": {"model": str(run.cell.model), "model_args": "", "limit": run.cell.source.limit},
        "date": run.created_at,
        "model_name": str(run.cell.model),
        "total_evaluation_time_seconds": str(run.elapsed_s),
    }


def _figures(task: str, scores: Sequence[Score]) -> dict[str, Any]:
    found: dict[str, Any] = {"alias": task}
    # What has a score for each item first: a reader takes the first as the task's own.
    for score in sorted(scores, key=lambda score: score.metric not in NAMES):
        name = NAMES.get(score.metric, score.metric)
        if score.estimate.value is not None:
            found[f"{name},none"] = score.estimate.value
            found[f"{name}_stderr,none"] = "N/A" if score.estimate.stderr is None else score.estimate.stderr
    return found


def _samples(
    items: Mapping[str, Sequence[Mapping[str, Any]]], metrics: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """One line an item; an item that was asked several times has all its replies and the share of right ones."""
    for place, item in enumerate(sorted(items)):
        records = items[item]
        first = records[0]
        prompt = "\n\n".join(message["content"] for message in first["prompt"])
        target = "" if first["target"] is None else str(first["target"])
        yield {
            "doc_id": place,
            "doc": {"id": item, "choices": first["choices"]},
            "target": target,
            "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": {}}},
            "resps": [[record["reply"] for record in records]],
            "filtered_resps": [first["answer"] or ""],
            "doc_hash": _hash(f"{item}\0{prompt}"),
            "prompt_hash": _hash(prompt),
            "target_hash": _hash(target),
            **dict.fromkeys(metrics, fmean(record["outcome"] == "correct" for record in records)),
        }


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
