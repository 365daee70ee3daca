"""lm-evaluation-harness: `results_*.json` with a `samples_TASK_*.jsonl` beside it for each task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from proctor.interop.logs import Log, LoggedTask, Sample, digest, file_digest, number, parsed, wrong


def is_results(path: Path) -> bool:
    return path.name.startswith("results_") and path.suffix == ".json"


def read_lm_eval(path: Path) -> Log:
    """The log of one results file. Raises DataError if it, or one of its samples files, is not what it should be."""
    results = parsed(path.read_bytes(), path)
    by_task, config = results.get("results"), results.get("config")
    if not isinstance(by_task, dict) or not isinstance(config, dict):
        raise wrong(path, "no results file of lm-eval: `results` and `config` are missing")
    files = {task: found for task in by_task if (found := _samples_file(path, task)) is not None}
    if not files:
        raise wrong(
            path,
            "no samples_TASK_*.jsonl beside it, as lm-eval writes them with --log_samples: no items to compare",
        )
    tasks: list[LoggedTask] = []
    samples: list[Sample] = []
    for task, file in files.items():
        told, read = _task(task, by_task[task], list(_lines(file)), file)
        tasks += told
        samples += read
    if not tasks:
        raise wrong(path, "none of its metrics has a score for each item")
    notes = [
        f"{task} has no metric with a score for each item and is left out"
        for task in files
        if not any(told.key == task for told in tasks)
    ]
    notes += [
        f"{task} has no samples file and is left out"
        for task in by_task
        if task not in files and not _is_group(results, task)
    ]
    return Log(
        tool="lm-eval",
        version=str(results.get("lm_eval_version") or results.get("git_hash") or "unknown"),
        model=str(results.get("model_name") or config.get("model_args") or config.get("model") or "unknown"),
        path=path,
        sha256=file_digest([path, *files.values()]),
        created_at=number(results.get("date")) or 0.0,
        elapsed_s=_seconds(results.get("total_evaluation_time_seconds")),
        tasks=tuple(tasks),
        samples=tuple(samples),
        prompts={task: _prompt(results, task) for task in files},
        settings={
            name: config.get(name)
            for name in ("model", "model_args", "gen_kwargs", "limit", "random_seed", "fewshot_seed")
            if config.get(name) is not None
        },
        notes=tuple(notes),
    )


def _samples_file(path: Path, task: str) -> Path | None:
    date = path.stem.removeprefix("results_")
    exact = path.with_name(f"samples_{task}_{date}.jsonl")
    if exact.is_file():
        return exact
    others = sorted(path.parent.glob(f"samples_{task}_*.jsonl"))
    return others[0] if len(others) == 1 else None


def _is_group(results: Mapping[str, Any], task: str) -> bool:
    return bool((results.get("group_subtasks") or {}).get(task)) or task in (results.get("groups") or {})


def _prompt(results: Mapping[str, Any], task: str) -> str:
    """How a task is put, without the model's own chat template: its version and the number of examples."""
    version = (results.get("versions") or {}).get(task)
    shots = (results.get("n-shot") or {}).get(task)
    return f"lm-eval {task} version {version}, {shots}-shot"


def _task(
    task: str, results: Mapping[str, Any], lines: list[dict[str, Any]], file: Path
) -> tuple[list[LoggedTask], list[Sample]]:
    """A task for each of its metrics and filters; the first is scored, the others stand beside it."""
    tasks: list[LoggedTask] = []
    samples: list[Sample] = []
    for name, value in results.items():
        metric, _, chosen = name.partition(",")
        if metric.endswith("_stderr") or metric in ("alias", "sample_len") or number(value) is None:
            continue
        mine = [line for line in lines if line.get("filter", chosen or "none") == (chosen or "none")]
        if not mine or not all(metric in line for line in mine):
            continue
        key = task if not tasks else f"{task} ({name.replace(',', ', ')})"
        scored = [_sample(key, line, metric, file) for line in mine]
        if all(sample.score is None for sample in scored):
            continue  # a metric of the whole corpus: no item has a score of its own
        tasks.append(LoggedTask(key, f"{task} {metric}", name, number(value), extra=bool(tasks)))
        samples += scored
    return tasks, samples


def _sample(key: str, line: Mapping[str, Any], metric: str, file: Path) -> Sample:
    if "doc_id" not in line:
        raise wrong(file, "a line without doc_id")
    target = _text(line.get("target"))
    answer, reply = _answer(line)
    asked = line.get("doc_hash") or orjson.dumps(line.get("doc"), option=orjson.OPT_SORT_KEYS).decode()
    return Sample(
        item=f"{key}/{line['doc_id']}",
        task=key,
        content=digest(str(asked), str(line.get("target_hash") or target)),
        score=number(line.get(metric)),
        target=target,
        answer=answer,
        reply=reply,
    )


def _answer(line: Mapping[str, Any]) -> tuple[str | None, str]:
    """What the model chose or wrote, and its words; of choices ranked by likelihood, the likeliest."""
    filtered, replies = line.get("filtered_resps") or [], line.get("resps") or []
    pairs = [pair for pair in filtered if isinstance(pair, list | tuple) and len(pair) == 2]
    if pairs and len(pairs) == len(filtered):
        likelihoods = [_float(pair[0]) for pair in pairs]
        best = max(range(len(likelihoods)), key=likelihoods.__getitem__)
        asked = (line.get("arguments") or {}).get(f"gen_args_{best}") or {}
        return str(asked.get("arg_1", best)).strip(), "\n".join(str(value) for value in likelihoods)
    said = replies[0] if replies else ""
    said = said[0] if isinstance(said, list) and said else said
    return (_text(filtered[0]) if filtered else None), _text(said) or ""


def _float(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return float("-inf")


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return orjson.dumps(value, default=str).decode()


def _seconds(value: object) -> float:
    return max(0.0, _float(value)) if value is not None else 0.0


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for place, line in enumerate(path.read_bytes().splitlines(), 1):
        if line.strip():
            yield parsed(line, path, f"line {place} is ")
