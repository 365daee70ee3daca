"""Inspect's logs: `.eval` archives (a header and a file a sample) and `.json` files with everything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from proctor.interop.logs import Log, LoggedTask, Sample, digest, file_digest, number, parsed, wrong
from proctor.interop.zips import Archive
from proctor.types import Message

GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}  # correct, partly, incorrect, no answer


def is_inspect(path: Path) -> bool:
    return path.suffix == ".eval" or (path.suffix == ".json" and b'"eval"' in path.read_bytes()[:20_000])


def read_inspect(path: Path) -> Log:
    """Raises DataError if the file is no log of Inspect."""
    header, samples = _archive(path) if path.suffix == ".eval" else _file(path)
    of = header.get("eval")
    if not isinstance(of, dict) or "task" not in of:
        raise wrong(path, "no log of Inspect: `eval` with its `task` is missing")
    task = str(of["task"])
    scorers = _scorers(header, samples)
    if not scorers:
        raise wrong(path, "none of its samples has a score that is a number or a grade (C, P, I, N)")
    tasks = tuple(
        LoggedTask(
            task if place == 0 else f"{task} ({name})",
            f"{task} {name}",
            name,
            _theirs(header, name),
            extra=place > 0,
        )
        for place, name in enumerate(scorers)
    )
    return Log(
        tool="inspect",
        version=str((of.get("packages") or {}).get("inspect_ai", "unknown")),
        model=str(of.get("model", "unknown")),
        path=path,
        sha256=file_digest([path]),
        created_at=_time(of.get("created")) or 0.0,
        elapsed_s=_elapsed(header.get("stats") or {}),
        tasks=tasks,
        samples=tuple(_sample(told, sample) for told in tasks for sample in samples),
        prompts={task: _prompt(of, header.get("plan") or {})},
        settings={"config": of.get("config") or {}, "model_args": of.get("model_args") or {}},
        notes=tuple(_notes(header, len(samples))),
        complete=header.get("status") == "success",
    )


def _archive(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    archive = Archive(path)
    try:
        names = sorted(name for name in archive.names() if name.startswith("samples/"))
        start = "header.json" if "header.json" in archive.names() else "_journal/start.json"
        return parsed(archive.read(start), path), [parsed(archive.read(name), path) for name in names]
    finally:
        archive.close()


def _file(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    record = parsed(path.read_bytes(), path)
    samples = record.get("samples") or []
    return record, [sample for sample in samples if isinstance(sample, dict)]


def _scorers(header: Mapping[str, Any], samples: list[dict[str, Any]]) -> list[str]:
    """The scorers with a value that is a number or a grade, in the order of the log's results."""
    told = [str(score.get("name")) for score in (header.get("results") or {}).get("scores") or []]
    seen = dict.fromkeys(name for sample in samples for name in (sample.get("scores") or {}))
    ordered = [name for name in told if name in seen] + [name for name in seen if name not in told]
    return [
        name for name in dict.fromkeys(ordered) if any(_grade(sample, name) is not None for sample in samples)
    ]


def _grade(sample: Mapping[str, Any], scorer: str) -> float | None:
    value = ((sample.get("scores") or {}).get(scorer) or {}).get("value")
    return GRADES.get(value) if isinstance(value, str) else number(value)


def _theirs(header: Mapping[str, Any], scorer: str) -> float | None:
    for score in (header.get("results") or {}).get("scores") or []:
        if score.get("name") == scorer:
            metrics = score.get("metrics") or {}
            for name in ("accuracy", "mean"):
                if name in metrics:
                    return number(metrics[name].get("value"))
    return None


def _prompt(of: Mapping[str, Any], plan: Mapping[str, Any]) -> str:
    """How the task is put: its version, its arguments and its solvers."""
    steps = orjson.dumps(plan.get("steps") or [], option=orjson.OPT_SORT_KEYS).decode()
    arguments = orjson.dumps(of.get("task_args") or {}, option=orjson.OPT_SORT_KEYS).decode()
    return f"inspect {of['task']} version {of.get('task_version')}, solvers {digest(steps, arguments)[:12]}"


def _sample(task: LoggedTask, sample: Mapping[str, Any]) -> Sample:
    scored = (sample.get("scores") or {}).get(task.metric) or {}
    target = _text(sample.get("target"))
    usage = _usage(sample)
    error = sample.get("error")
    return Sample(
        item=f"{task.key}/{sample.get('id')}",
        task=task.key,
        content=digest(_text(sample.get("input")), target, _text(sample.get("choices") or [])),
        score=_grade(sample, task.metric),
        target=target,
        answer=_text(scored["answer"]) if scored.get("answer") is not None else None,
        reply=_reply(sample),
        repeat=int(sample.get("epoch") or 1) - 1,
        prompt=tuple(_prompts(sample)),
        input_tokens=usage.get("input_tokens"),
        output_tokens=usage.get("output_tokens"),
        latency_s=number(sample.get("total_time")),
        error=str(error.get("message", error)) if isinstance(error, dict) else error,
    )


def _usage(sample: Mapping[str, Any]) -> Mapping[str, Any]:
    for usage in (sample.get("model_usage") or {}).values():
        if isinstance(usage, dict):
            return usage
    usage = (sample.get("output") or {}).get("usage")
    return usage if isinstance(usage, dict) else {}


def _reply(sample: Mapping[str, Any]) -> str:
    choices = (sample.get("output") or {}).get("choices") or []
    content = (choices[0].get("message") or {}).get("content") if choices else ""
    return _text(content)


def _prompts(sample: Mapping[str, Any]) -> Iterator[Message]:
    """The messages up to the model's first word."""
    for message in sample.get("messages") or []:
        if message.get("role") == "assistant":
            return
        yield Message(str(message.get("role")), _text(message.get("content")))


def _text(value: object) -> str:
    """Text as it is; lists of parts and other things as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(
        isinstance(part, dict) and isinstance(part.get("text"), str) for part in value
    ):
        return "\n".join(part["text"] for part in value)
    return "" if value is None else orjson.dumps(value, default=str, option=orjson.OPT_SORT_KEYS).decode()


def _time(text: object) -> float | None:
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return None


def _elapsed(stats: Mapping[str, Any]) -> float:
    start, end = _time(stats.get("started_at")), _time(stats.get("completed_at"))
    return max(0.0, end - start) if start is not None and end is not None else 0.0


def _notes(header: Mapping[str, Any], samples: int) -> Iterator[str]:
    status = header.get("status")
    if status != "success":
        yield f"the log's own status is {status}"
    total = (header.get("results") or {}).get("total_samples")
    if isinstance(total, int) and total > samples:
        yield f"it holds {samples:,} of its {total:,} samples"
