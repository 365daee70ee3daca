"""Logs of other tools and bundles, as somebody hands them on: archives with members that may be anything."""

from __future__ import annotations

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from fuzz.contract import Parser, Read, Room, filed
from fuzz.files import DATA, packed
from proctor.errors import DataError
from proctor.interop.inspect_log import is_inspect, read_inspect
from proctor.interop.lm_eval import read_lm_eval
from proctor.references import ExamRef
from proctor.service.context import open_context
from proctor.service.data.bundle import bundle
from proctor.service.data.unpack import Bounds
from proctor.service.data.verify import verify
from proctor.service.runs.lifecycle import start
from proctor.settings import read_settings
from proctor.types import Cell, Model, Plan

DATE = "2024-12-23T13-17-27.691350"
SMALL = Bounds(all_bytes=1 << 24, line_bytes=1 << 20, lines=2000, members=200)
_LINE = {
    "doc_id": 0,
    "doc": {"q": "question", "gold": "yes"},
    "target": "yes",
    "arguments": {"gen_args_0": {"arg_0": "question", "arg_1": {"until": ["x"]}}},
    "resps": [["yes"]],
    "filtered_resps": ["yes"],
    "filter": "none",
    "metrics": ["acc"],
    "doc_hash": "d",
    "prompt_hash": "p",
    "target_hash": "t",
    "acc": 1.0,
}
_RANKED = {
    **_LINE,
    "arguments": {"gen_args_0": {"arg_0": "q", "arg_1": " a"}, "gen_args_1": {"arg_0": "q", "arg_1": " b"}},
    "resps": [[["-1.5", "False"]], [["-0.5", "True"]]],
    "filtered_resps": [["-1.5", "False"], ["-0.5", "True"]],
    "target": 1,
}
_RESULTS = {
    "results": {"quiz": {"alias": "quiz", "acc,none": 1.0, "acc_stderr,none": 0.1}},
    "group_subtasks": {"quiz": []},
    "groups": {},
    "configs": {"quiz": {"task": "quiz", "doc_to_text": "{{q}}", "output_type": "multiple_choice"}},
    "versions": {"quiz": 2.0},
    "n-shot": {"quiz": 0},
    "n-samples": {"quiz": {"original": 2, "effective": 2}},
    "config": {"model": "hf", "model_args": "pretrained=m,api_key=x", "fewshot_seed": 1234},
    "lm_eval_version": "0.4.7",
    "model_name": "m",
    "date": 1_700_000_000.0,
    "total_evaluation_time_seconds": "12.5",
}


def _sample(number: int) -> Mapping[str, object]:
    said = {"role": "assistant", "content": "I say yes"}
    return {
        "id": number,
        "epoch": 1,
        "input": [{"role": "user", "content": [{"type": "text", "text": "q"}]}] if number else "q",
        "target": ["yes", "ja"] if number else "yes",
        "choices": ["yes", "no"],
        "messages": [{"role": "user", "content": "q"}, said],
        "output": {"choices": [{"message": said, "stop_reason": "stop"}], "time": 0.25},
        "scores": {"match": {"value": "C", "answer": "yes"}, "other": {"value": {"a": 0.5}}},
        "model_usage": {"lab/m": {"input_tokens": 12, "output_tokens": 3, "reasoning_tokens": 1}},
        "total_time": 2.5,
        "working_time": 0.5,
        "error": None,
        "metadata": {"topic": "x"},
    }


_INSPECT = {
    "version": 2,
    "status": "success",
    "eval": {
        "task": "quiz",
        "task_version": 0,
        "model": "lab/m",
        "created": "2025-01-02T03:04:05+00:00",
        "dataset": {"name": "quiz", "samples": 2, "sample_ids": [0, 1]},
        "config": {"epochs": 1},
        "packages": {"inspect_ai": "0.3.1"},
        "model_args": {"api_key": "x"},
    },
    "plan": {"steps": [{"solver": "generate", "params": {}}]},
    "results": {
        "scores": [
            {"name": "match", "scorer": "match", "metrics": {"accuracy": {"name": "accuracy", "value": 1.0}}}
        ]
    },
    "stats": {"started_at": "2025-01-02T03:04:05+00:00", "completed_at": "2025-01-02T03:05:05+00:00"},
    "samples": [_sample(0), _sample(1)],
}


def _real(pattern: str) -> Sequence[bytes]:
    return [path.read_bytes() for path in sorted((DATA / "predictions").glob(pattern))]


def _results() -> Sequence[bytes]:
    """The results file, a line of zeros, and the samples: two files in one input."""
    lines = [json.dumps(each).encode() for each in (_LINE, {**_LINE, "doc_id": 1, "acc": 0.0})]
    ranked = [json.dumps(each).encode() for each in (_RANKED, {**_RANKED, "doc_id": 1})]
    told = json.dumps(_RESULTS).encode()
    return [b"\n".join((told, *lines)), b"\n".join((told, *ranked))]


def _lm_eval(room: Room) -> Read:
    def read(body: bytes) -> object:
        results, _, samples = body.partition(b"\n")
        room.file(f"samples_quiz_{DATE}.jsonl", samples)
        return read_lm_eval(room.file(f"results_{DATE}.json", results))

    return read


def _inspect(name: str) -> Callable[[Room], Read]:
    def opened(room: Room) -> Read:
        def read(body: bytes) -> object:
            path = room.file(name, body)
            return read_inspect(path) if is_inspect(path) else None

        return read

    return opened


def _eval_members() -> Sequence[bytes]:
    """An .eval archive's members as JSON."""
    header = {name: part for name, part in _INSPECT.items() if name != "samples"}
    files: dict[str, object] = {"_journal/start.json": {}, "header.json": header}
    files |= {f"samples/{number}_epoch_1.json": _sample(number) for number in range(2)}
    return [json.dumps(files).encode()]


def _zipped(name: str, read: Callable[[Path], object]) -> Callable[[Room], Read]:
    def opened(room: Room) -> Read:
        def packed_first(body: bytes) -> object:
            made = packed(body)
            return None if made is None else read(room.file(name, made))

        return packed_first

    return opened


@cache
def bundle_members() -> Mapping[str, str]:
    """A bundle of a small run that a baseline made, as texts."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        ref = ExamRef("suite", "superglue", rows="sample", limit=1, tasks=("boolq", "copa"))
        with open_context(read_settings({"PROCTOR_HOME": folder})) as context:
            ended = start(context, Plan((Cell(Model("baseline", "majority"), ref),)))
            if ended.evaluation is None:
                raise DataError(f"no bundle to begin with: {ended.error}")
            bundle(context, [ended.evaluation.results[0].run.id], home / "one.zip")
        with zipfile.ZipFile(home / "one.zip") as archive:
            return {name: archive.read(name).decode() for name in archive.namelist()}


def _bundle_texts() -> Sequence[bytes]:
    told = {name: _as_json(text) for name, text in bundle_members().items()}
    return [json.dumps(told).encode(), json.dumps(dict(bundle_members())).encode()]


def _as_json(text: str) -> object:
    """What a member says, where it is one JSON value: so that it is changed inside."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _bundles() -> Sequence[bytes]:
    return [made for made in map(packed, _bundle_texts()) if made is not None]


def _verified(path: Path) -> object:
    return verify(path, bounds=SMALL)


def _with_sums(body: bytes) -> bytes:
    """The members with sums that fit, so that what is in them is looked at."""
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return body
    if not isinstance(told, dict):
        return body
    texts = {name: each if isinstance(each, str) else json.dumps(each) for name, each in told.items()}
    sums = [
        f"{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()}  {name}\n"
        for name, text in sorted(texts.items())
        if name != "SHA256SUMS"
    ]
    return json.dumps({**texts, "SHA256SUMS": "".join(sums)}).encode()


def _summed(room: Room) -> Read:
    read = _zipped("b.zip", _verified)(room)
    return lambda body: read(_with_sums(body))


PARSERS: Sequence[Parser] = [
    Parser("lm-eval", _results, _lm_eval, "lines"),
    Parser("inspect json", lambda: [json.dumps(_INSPECT).encode(), *_real("inspect_logs/*.json")], _inspect("log.json"), "json"),
    Parser("inspect eval", lambda: [*map(bytes, filter(None, map(packed, _eval_members()))), *_real("inspect_logs/*.eval")], _inspect("log.eval"), "bytes", share=0.5),
    Parser("inspect members", _eval_members, _zipped("log.eval", read_inspect), "json", share=0.5),
    Parser("bundle", _bundles, filed(_verified, "b.zip"), "bytes", share=0.2),
    Parser("bundle members", _bundle_texts, _summed, "json", share=0.3),
]  # fmt: skip
