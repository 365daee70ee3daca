"""Logs as lm-eval and Inspect write them, made for tests, and zip archives that the standard library cannot write."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import zstandard

DATE = "2024-01-01T00-00-00.123456"


def line(number: int, target: str = "yes", answer: str = "yes", **more: Any) -> dict[str, Any]:
    """One line of lm-eval's samples, of a task that is answered in free words."""
    return {
        "doc_id": number,
        "doc": {"q": number},
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": f"question {number}", "arg_1": {"until": ["\n"]}}},
        "resps": [[f"I say {answer}"]],
        "filtered_resps": [answer],
        "doc_hash": f"d{number}",
        "prompt_hash": "p",
        "target_hash": f"t{target}",
        **more,
    }


def ranked(number: int, target: str, options: Mapping[str, float], **more: Any) -> dict[str, Any]:
    """One line of lm-eval's samples, of a task that ranks options by their likelihood."""
    pairs = [[str(value), "False"] for value in options.values()]
    asked = {f"gen_args_{i}": {"arg_0": "Q:", "arg_1": f" {option}"} for i, option in enumerate(options)}
    return line(
        number, target, arguments=asked, resps=[[pair] for pair in pairs], filtered_resps=pairs, **more
    )


def lm_eval(
    folder: Path,
    model: str,
    tasks: Mapping[str, Sequence[Mapping[str, Any]]],
    figures: Mapping[str, Mapping[str, float]],
    **more: Any,
) -> Path:
    """A folder with the results of lm-eval, and the samples of each task that has lines; returns the results."""
    folder.mkdir(parents=True, exist_ok=True)
    results = {
        "results": {task: {"alias": task, **values} for task, values in figures.items()},
        "group_subtasks": {task: [] for task in tasks},
        "configs": {task: {"task": task, "doc_to_text": "{{q}}"} for task in tasks},
        "versions": dict.fromkeys(tasks, 2.0),
        "n-shot": dict.fromkeys(tasks, 0),
        "config": {"model": "hf", "model_args": f"pretrained={model}", "fewshot_seed": 1234},
        "lm_eval_version": "0.4.7",
        "model_name": model,
        "date": 1_700_000_000.0,
        "total_evaluation_time_seconds": "12.5",
        **more,
    }
    path = folder / f"results_{DATE}.json"
    path.write_text(json.dumps(results))
    for task, lines in tasks.items():
        (folder / f"samples_{task}_{DATE}.jsonl").write_text(
            "".join(json.dumps(each) + "\n" for each in lines)
        )
    return path


def quiz(
    folder: Path, model: str, rights: Sequence[float], *, told: float | None = None, **more: Any
) -> Path:
    """lm-eval's results of one task, "quiz", with the score `acc` of each item."""
    lines = [
        line(i, answer="yes" if right else "no", acc=right, **more.pop("each", {}))
        for i, right in enumerate(rights)
    ]
    mean = sum(rights) / len(rights) if told is None else told
    return lm_eval(
        folder, model, {"quiz": lines}, {"quiz": {"acc,none": mean, "acc_stderr,none": 0.1}}, **more
    )


def sample(number: int, value: object, **more: Any) -> dict[str, Any]:
    """One sample of an Inspect log, scored by "match"."""
    asked, said = f"question {number}", {"role": "assistant", "content": "I say yes"}
    return {
        "id": number,
        "epoch": 1,
        "input": asked,
        "target": "yes",
        "messages": [{"role": "system", "content": "Be short."}, {"role": "user", "content": asked}, said],
        "output": {"choices": [{"message": said, "stop_reason": "stop"}], "time": 0.25},
        "scores": {"match": {"value": value, "answer": "yes"}},
        "model_usage": {
            "grader/g": {"input_tokens": 900, "output_tokens": 90},
            "lab/m": {"input_tokens": 12, "output_tokens": 3, "reasoning_tokens": 1},
        },
        "total_time": 2.5,
        "working_time": 0.5,
        **more,
    }


def inspect(samples: Sequence[Mapping[str, Any]], *, of: Mapping[str, Any] | None = None, **more: Any) -> Any:
    """A log as Inspect writes it into a .json file."""
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "task": "quiz",
            "task_version": 0,
            "model": "lab/m",
            "created": "2025-01-02T03:04:05+00:00",
            "dataset": {"name": "quiz", "samples": len(samples)},
            "config": {},
            "packages": {"inspect_ai": "0.3.1"},
            **(of or {}),
        },
        "plan": {"steps": [{"solver": "generate", "params": {}}]},
        "results": {"scores": [{"name": "match", "scorer": "match", "metrics": {}}]},
        "stats": {"started_at": "2025-01-02T03:04:05+00:00", "completed_at": "2025-01-02T03:05:05+00:00"},
        "samples": list(samples),
        **more,
    }


def written(path: Path, document: object) -> Path:
    path.write_text(json.dumps(document))
    return path


def members(log: Mapping[str, Any]) -> dict[str, bytes]:
    """The files of an .eval archive with this log in it."""
    header = {name: part for name, part in log.items() if name != "samples"}
    files = {f"samples/{s['id']}_epoch_{s['epoch']}.json": json.dumps(s).encode() for s in log["samples"]}
    return {"_journal/start.json": b"{}", **files, "header.json": json.dumps(header).encode()}


def zipped(path: Path, files: Mapping[str, bytes], *, claimed: int | None = None) -> Path:
    """A zip archive packed with zstd (method 93). `claimed` is a size that every member pretends to have."""
    body, directory = b"", b""
    for name, content in files.items():
        packed, raw, size = zstandard.compress(content), name.encode(), claimed or len(content)
        facts = struct.pack("<HHHIIIHH", 93, 0, 0x21, zlib.crc32(content), len(packed), size, len(raw), 0)
        directory += b"PK\x01\x02" + struct.pack("<HHH", 63, 63, 0) + facts
        directory += struct.pack("<HHHII", 0, 0, 0, 0, len(body)) + raw
        body += b"PK\x03\x04" + struct.pack("<HH", 63, 0) + facts + raw + packed
    many = len(files)
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, many, many, len(directory), len(body), 0)
    path.write_bytes(body + directory + end)
    return path
