"""Inspect's logs: `.eval` archives (a header and a file a sample) and `.json` files with everything."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from proctor.interop.inspect_scores import NO_ANSWER, Scorer, cluster_field, code, score_of, scorers, theirs
from proctor.interop.logs import (
    Log,
    LoggedTask,
    Sample,
    array,
    checked,
    count,
    digest,
    mapping,
    number,
    parsed,
    read_bytes,
    text,
    without_secrets,
    wrong,
)
from proctor.interop.zips import ZipArchive
from proctor.types import Message

HEAD_BYTES = 20_000  # of a .json file: `eval` stands near its beginning

# What is read of a sample. The rest (events, attachments, the store) is by far the larger part.
_KEPT = (
    "id",
    "epoch",
    "input",
    "choices",
    "target",
    "messages",
    "output",
    "scores",
    "score",
    "metadata",
    "error",
    "invalidation",
    "total_time",
    "working_time",
    "model_usage",
)
_FINISH = {
    "stop": "stop",
    "tool_calls": "stop",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "refused",
}
_SETTINGS = ("config", "model_args", "model_generate_config", "task_args")


def is_inspect(path: Path) -> bool:
    if path.suffix != ".json":
        return path.suffix == ".eval"
    with path.open("rb") as file:
        return b'"eval"' in file.read(HEAD_BYTES)


def read_inspect(path: Path) -> Log:
    """Raises DataError if the file is no log of Inspect."""
    header, samples = _archive(path) if path.suffix == ".eval" else _file(path)
    of = header.get("eval")
    if not isinstance(of, dict) or "task" not in of:
        raise wrong(path, "no log of Inspect: `eval` with its `task` is missing")
    graders = scorers(header, samples)
    if not graders:
        raise wrong(
            path,
            "none of its samples has a score that is a number or a grade (C, P, I, N): nothing to compare",
        )
    task = text(of["task"])
    tasks = {
        grader: LoggedTask(
            task if place == 0 else f"{task} ({grader.title})",
            f"{task} {grader.title}",
            grader.title,
            theirs(header, grader),
            extra=place > 0,
        )
        for place, grader in enumerate(graders)
    }
    read = _Reading(path, header, samples, tasks)
    return checked(
        Log(
            tool="inspect",
            version=text(mapping(of.get("packages")).get("inspect_ai")) or "unknown",
            model=text(of.get("model")) or "unknown",
            path=path,
            sha256=hashlib.sha256(read_bytes(path)).hexdigest(),
            created_at=_time(of.get("created")) or 0.0,
            elapsed_s=_elapsed(mapping(header.get("stats"))),
            tasks=tuple(tasks.values()),
            samples=tuple(read.samples()),
            prompts={task: _prompt(of, mapping(header.get("plan")))},
            extractor=f"inspect/{'+'.join(grader.title for grader in graders)}, {code(header)}",
            planned=_planned(header, len(samples)) * len(tasks),
            settings=without_secrets({name: of[name] for name in _SETTINGS if of.get(name)}),
            notes=tuple(_notes(header, len(samples))),
            stopped=_stopped(header),
        )
    )


# Files -------------------------------------------------------------------------------------------


def _archive(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The header, and the samples one by one: a whole log need not fit into memory."""
    with ZipArchive(path) as archive:
        # A log whose run broke off has no header, only what was known at its start.
        start = "header.json" if "header.json" in archive.names() else "_journal/start.json"
        header = parsed(archive.read(start), path, f"{start} is ")
        names = [n for n in archive.names() if n.startswith("samples/") and n.endswith(".json")]
        return header, [_slim(parsed(archive.read(name), path, f"{name} is ")) for name in names]


def _file(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    record = parsed(read_bytes(path), path)
    return record, [_slim(sample) for sample in array(record.get("samples")) if isinstance(sample, dict)]


def _slim(sample: Mapping[str, Any]) -> dict[str, Any]:
    return {name: sample[name] for name in _KEPT if name in sample}


# The log as a whole ------------------------------------------------------------------------------


def _prompt(of: Mapping[str, Any], plan: Mapping[str, Any]) -> str:
    """How the task is put: its version, its arguments and its solvers."""
    how = digest(text(plan.get("steps")), text(of.get("task_args") or {}))[:12]
    return f"inspect {text(of['task'])} version {text(of.get('task_version')) or 'unknown'}, {how}"


def _order(header: Mapping[str, Any]) -> dict[str, int]:
    """The places of the samples, by id, in the order in which Inspect takes them; empty in older logs."""
    ids = array(mapping(mapping(header.get("eval")).get("dataset")).get("sample_ids"))
    return {text(one): place for place, one in enumerate(ids)}


def _planned(header: Mapping[str, Any], found: int) -> int:
    epochs = count(mapping(mapping(header.get("eval")).get("config")).get("epochs")) or 1
    total = count(mapping(header.get("results")).get("total_samples"))
    return max(found, total or len(_order(header)) * epochs)


def _stopped(header: Mapping[str, Any]) -> str | None:
    status = header.get("status")
    if status == "success":
        return None
    why = text(mapping(header.get("error")).get("message"))
    return f"the log's own status is {text(status) or 'unknown'}{f': {why}' if why else ''}"


def _notes(header: Mapping[str, Any], found: int) -> Iterator[str]:
    if (stopped := _stopped(header)) is not None:
        yield stopped
    if (planned := _planned(header, found)) > found:
        yield f"it holds {found:,} of its {planned:,} samples"


def _time(value: object) -> float | None:
    try:
        return datetime.fromisoformat(text(value)).timestamp()
    except ValueError:
        return None


def _elapsed(stats: Mapping[str, Any]) -> float:
    start, end = _time(stats.get("started_at")), _time(stats.get("completed_at"))
    return max(0.0, end - start) if start is not None and end is not None else 0.0


# Samples -----------------------------------------------------------------------------------------


class _Reading:
    """The samples of one log on their way into the neutral form."""

    def __init__(
        self,
        path: Path,
        header: Mapping[str, Any],
        samples: Sequence[Mapping[str, Any]],
        tasks: Mapping[Scorer, LoggedTask],
    ) -> None:
        self.path = path
        self.model = text(mapping(header.get("eval")).get("model"))
        self.cluster = cluster_field(header)
        self.order = _order(header)
        self.tasks = tasks
        self.raw = sorted(samples, key=self._place)

    def samples(self) -> Iterator[Sample]:
        for sample in self.raw:
            if sample.get("id") is None:
                raise wrong(self.path, "a sample without an id")
            for grader, task in self.tasks.items():
                yield self._sample(sample, grader, task)

    def _place(self, sample: Mapping[str, Any]) -> tuple[int, int, str, int]:
        name = text(sample.get("id"))
        number_first = int(name) if name.isdecimal() and len(name) < 19 else 0
        return self.order.get(name, len(self.order)), number_first, name, _epoch(sample)

    def _sample(self, sample: Mapping[str, Any], grader: Scorer, task: LoggedTask) -> Sample:
        target, said = _words(sample.get("target")), score_of(sample, grader.name)
        choices, usage = array(sample.get("choices")), self._usage(sample)
        output = mapping((array(mapping(sample.get("output")).get("choices")) or [None])[0])
        place = self.order.get(text(sample["id"]))
        score = None if _error(sample) else grader.grade(sample)
        return Sample(
            item=f"{task.key}/{text(sample['id'])}",
            task=task.key,
            content=digest(_asked(sample.get("input")), target, text(choices)),
            score=score,
            target=target,
            answer=None if said.get("answer") is None else text(said["answer"]),
            reply=_words(mapping(output.get("message")).get("content")),
            repeat=_epoch(sample) - 1,
            place=None if place is None else place * len(self.tasks) + list(self.tasks).index(grader),
            prompt=tuple(_prompts(sample)),
            choices=tuple(map(text, choices)),
            cluster=self._cluster(sample),
            finish=_FINISH.get(text(output.get("stop_reason")), "unknown"),
            unread=grader.value(sample) == NO_ANSWER,
            input_tokens=count(usage.get("input_tokens")),
            output_tokens=count(usage.get("output_tokens")),
            reasoning_tokens=count(usage.get("reasoning_tokens")),
            latency_s=_latency_s(sample),
            error=_error(sample) or (f"{grader.title} gave it no number" if score is None else None),
        )

    def _usage(self, sample: Mapping[str, Any]) -> Mapping[str, Any]:
        """The tokens of the model that is measured, not of one that grades it."""
        by_model = mapping(sample.get("model_usage"))
        return mapping(by_model.get(self.model)) or mapping(mapping(sample.get("output")).get("usage"))

    def _cluster(self, sample: Mapping[str, Any]) -> str | None:
        return text(mapping(sample.get("metadata")).get(self.cluster)) or None if self.cluster else None


def _epoch(sample: Mapping[str, Any]) -> int:
    return max(1, count(sample.get("epoch")) or 1)


def _error(sample: Mapping[str, Any]) -> str | None:
    error = sample.get("error")
    if error:
        return text(mapping(error).get("message") or error)
    return "Inspect's user marked it as invalid" if sample.get("invalidation") else None


def _latency_s(sample: Mapping[str, Any]) -> float | None:
    """The request where there was one; else the time at work, without waiting for the server's permission."""
    turns = sum(1 for message in _messages(sample) if message.get("role") == "assistant")
    request = number(mapping(sample.get("output")).get("time")) if turns == 1 else None
    times = (request, number(sample.get("working_time")), number(sample.get("total_time")))
    return next((time for time in times if time is not None and time >= 0), None)


def _messages(sample: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [mapping(message) for message in array(sample.get("messages"))]


def _prompts(sample: Mapping[str, Any]) -> Iterator[Message]:
    """The messages up to the model's first word."""
    for message in _messages(sample):
        if message.get("role") == "assistant":
            return
        yield Message(text(message.get("role")), _words(message.get("content")))


def _asked(value: object) -> str:
    """The input without the ids of its messages, which are drawn anew in each run."""
    if isinstance(value, str):
        return value
    messages = map(mapping, array(value))
    return text([[message.get("role"), message.get("content")] for message in messages])


def _words(value: object) -> str:
    """The texts of a message's parts, or of a list of targets, one below the other; other things as JSON."""
    said = [part if isinstance(part, str) else mapping(part).get("text") for part in array(value)]
    words = [word for word in said if isinstance(word, str)]
    return "\n".join(words) if words else text(value or None)
