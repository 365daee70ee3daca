"""lm-evaluation-harness: `results_*.json` with a `samples_TASK_*.jsonl` beside it for each task."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor.interop.lm_eval_answers import answered
from proctor.interop.logs import (
    Group,
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

_DATE = re.compile(r"_(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?)$")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # of a Python function: another one in each process

# What of a task's configuration decides how its items are put, and what decides how replies are read.
_ASKING = (
    "description",
    "doc_to_text",
    "doc_to_choice",
    "doc_to_target",
    "target_delimiter",
    "fewshot_delimiter",
    "fewshot_config",
    "fewshot_split",
    "output_type",
)
_METRIC_WORDS = ("aggregation", "higher_is_better")  # about the sum of the items, not about one
_SETTINGS = ("model", "model_args", "gen_kwargs", "limit", "random_seed", "fewshot_seed")
_NO_METRICS = ("alias", "sample_len", "samples", "bypass")


def is_results(path: Path) -> bool:
    """True for the names that lm-eval gives its results: `results_DATE.json`, or `NAME_DATE.json` on request."""
    named = path.name.startswith("results_") or _DATE.search(path.stem)
    return path.suffix == ".json" and bool(named)


def read_lm_eval(path: Path) -> Log:
    """The log of one results file. Raises DataError if it, or one of its samples files, is not what it should be."""
    raw = read_bytes(path)
    results = parsed(raw, path)
    by_task, config = results.get("results"), results.get("config")
    if not isinstance(by_task, dict) or not isinstance(config, dict):
        raise wrong(path, "no results file of lm-eval: `results` and `config` are missing")
    files = {task: found for task in by_task if (found := _samples_file(path, task)) is not None}
    if not files:
        raise wrong(
            path,
            "no samples_TASK_*.jsonl beside it, as lm-eval writes them with --log_samples: no items to compare",
        )
    content = hashlib.sha256(raw)
    exams = []
    for task, file in files.items():
        lines = read_bytes(file)
        content.update(lines)
        exams.append(_exam(results, task, list(_lines(lines, file)), file))
    tasks = tuple(told for exam in exams for told in exam.tasks)
    if not tasks:
        raise wrong(path, "none of its metrics has a score for each item")
    return checked(
        Log(
            tool="lm-eval",
            version=text(results.get("lm_eval_version") or results.get("git_hash")) or "unknown",
            model=_model(results, config),
            path=path,
            sha256=content.hexdigest(),
            created_at=number(results.get("date")) or 0.0,
            elapsed_s=_seconds(results.get("total_evaluation_time_seconds")),
            tasks=tasks,
            samples=tuple(sample for exam in exams for sample in exam.samples),
            prompts={task: _prompt(results, config, task) for task in files},
            extractor=_extractor(results, tasks, tuple(files)),
            planned=sum(exam.planned for exam in exams),
            groups=tuple(_groups(results, {told.key: told for told in tasks})),
            settings=without_secrets(
                {name: config[name] for name in _SETTINGS if config.get(name) is not None}
            ),
            notes=(*(note for exam in exams for note in exam.notes), *_left_out(results, files)),
        )
    )


def _model(results: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    named = results.get("model_name") or config.get("model_args") or config.get("model")
    return text(without_secrets(named)) or "unknown"


# Files -------------------------------------------------------------------------------------------


def file_word(task: str) -> str:
    """The task's name as it stands in the name of a file."""
    return re.sub(r"[^\w.-]", "_", task)


def _samples_file(path: Path, task: str) -> Path | None:
    """The samples of the same moment; or those of another, if there is no other choice."""
    date = _DATE.search(path.stem)
    when = date.group(1) if date else path.stem.removeprefix("results_")
    for name in dict.fromkeys((task.replace("/", "_"), file_word(task))):
        exact = path.with_name(f"samples_{name}_{when}.jsonl")
        if exact.is_file():
            return exact
        # The end must be a date: samples_mmlu_anatomy_* are none of a task called mmlu.
        others = [
            file
            for file in path.parent.glob("samples_*.jsonl")
            if file.stem == f"samples_{name}{found.group(0) if (found := _DATE.search(file.stem)) else ''}"
        ]
        if len(others) == 1 and len(list(path.parent.glob("*results_*.json"))) == 1:
            return others[0]
    return None


def _lines(raw: bytes, path: Path) -> Iterator[dict[str, Any]]:
    for place, line in enumerate(raw.splitlines(), 1):
        if line.strip():
            yield parsed(line, path, f"line {place} is ")


def _left_out(results: Mapping[str, Any], files: Mapping[str, Path]) -> Iterator[str]:
    for task in mapping(results.get("results")):
        is_group = bool(mapping(results.get("group_subtasks")).get(task)) or task in mapping(
            results.get("groups")
        )
        if task not in files and not is_group:
            yield f"{task} has no samples file and is left out"


# Tasks and their samples -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Exam:
    """A task under each of its metrics and filters; the first is scored, the others stand beside it."""

    tasks: tuple[LoggedTask, ...]
    samples: tuple[Sample, ...]
    planned: int
    notes: tuple[str, ...]


def _exam(results: Mapping[str, Any], task: str, lines: Sequence[dict[str, Any]], file: Path) -> _Exam:
    tasks: list[LoggedTask] = []
    samples: list[Sample] = []
    notes: list[str] = []
    rising = mapping(mapping(results.get("higher_is_better")).get(task))
    for name, value in mapping(results["results"][task]).items():
        metric, _, chosen = name.partition(",")
        mine = [line for line in lines if line.get("filter", chosen or "none") == (chosen or "none")]
        if metric.endswith("_stderr") or metric in _NO_METRICS or number(value) is None:
            continue
        if not any(number(line.get(metric)) is not None for line in mine):
            continue  # a metric of the whole corpus: no item has a score of its own
        if rising.get(metric) is False:
            notes.append(f"{task} {metric} is left out: lower is better there")
            continue
        shown = metric if chosen in ("", "none") else f"{metric}, {chosen}"
        key = f"{task} ({shown})" if tasks else task
        tasks.append(LoggedTask(key, f"{task} {shown}", name, number(value), extra=bool(tasks)))
        samples += (_sample(key, line, metric, file) for line in mine)
    if not tasks:
        notes.append(f"{task} has no metric with a score for each item and is left out")
        return _Exam((), (), 0, tuple(notes))
    found = sum(1 for sample in samples if sample.task == task)
    meant = count(mapping(mapping(results.get("n-samples")).get(task)).get("effective")) or found
    if found < meant:
        notes.append(f"{file.name} holds {found:,} of {meant:,} items")
    return _Exam(tuple(tasks), tuple(samples), max(found, meant) * len(tasks), tuple(notes))


def _sample(key: str, line: Mapping[str, Any], metric: str, file: Path) -> Sample:
    if "doc_id" not in line:
        raise wrong(file, "a line without doc_id: samples as lm-eval writes them have one")
    score = number(line.get(metric))
    said = answered(line, score)
    asked = text(line.get("doc_hash")) or text(line.get("doc"))
    return Sample(
        item=f"{key}/{line['doc_id']}",
        task=key,
        content=digest(asked, text(line.get("target_hash") or line.get("target"))),
        score=score,
        target=said.target,
        answer=said.answer,
        reply=said.reply,
        prompt=said.prompt,
        choices=said.choices,
        unread=said.unread,
        error=None if score is not None else f"{metric} has no number for this item",
    )


# What two logs must share to be compared ---------------------------------------------------------


def _prompt(results: Mapping[str, Any], config: Mapping[str, Any], task: str) -> str:
    """How a task is put; the chat template is not in it, which is the model's own."""
    version = text(mapping(results.get("versions")).get(task))
    shots = count(mapping(results.get("n-shot")).get(task)) or 0
    of = mapping(mapping(results.get("configs")).get(task))
    parts = [text(of.get(name)) for name in _ASKING]
    parts += [text(results.get("system_instruction_sha") or results.get("system_instruction"))]
    if shots:
        parts += [text(config.get("fewshot_seed")), text(results.get("fewshot_as_multiturn") or False)]
    code = digest(*(_ADDRESS.sub("", part) for part in parts))[:12]
    return f"lm-eval {task} version {version or 'unknown'}, {shots}-shot, {code}"


def _extractor(results: Mapping[str, Any], tasks: Sequence[LoggedTask], keys: Sequence[str]) -> str:
    """Metrics and filters by name, with a code for how each task sets them."""
    parts = []
    for key in keys:
        of = mapping(mapping(results.get("configs")).get(key))
        metrics = [
            {name: word for name, word in each.items() if name not in _METRIC_WORDS}
            for each in map(mapping, array(of.get("metric_list")))
        ]
        parts.append(_ADDRESS.sub("", text([metrics, of.get("filter_list")])))
    names = dict.fromkeys(told.metric.removesuffix(",none") for told in tasks)
    return f"lm-eval/{'+'.join(names)}, {digest(*parts)[:12]}"


def _groups(results: Mapping[str, Any], tasks: Mapping[str, LoggedTask]) -> Iterator[Group]:
    """The groups that have tasks here, the largest first; a value only for those of which no task is missing."""
    below = mapping(results.get("group_subtasks"))
    found = []
    for name, members in below.items():
        leaves = list(_leaves(below, members, name))
        here = tuple(leaf for leaf in leaves if leaf in tasks)
        if len(here) > 1:
            metric = tasks[here[0]].metric
            figures = mapping(results["results"]).get(name) or mapping(results.get("groups")).get(name)
            theirs = number(mapping(figures).get(metric))
            found.append(Group(str(name), here, theirs if len(here) == len(leaves) else None))
    yield from sorted(found, key=lambda group: -len(group.tasks))


def _leaves(below: Mapping[str, Any], members: object, name: str) -> Iterator[str]:
    """The tasks below the group of this name, each once; groups may hold groups, also one another."""
    seen, waiting = {name}, [text(member) for member in reversed(array(members))]
    told: set[str] = set()
    while waiting:
        member = waiting.pop()
        if below.get(member) and member not in seen:
            seen.add(member)
            waiting += [text(each) for each in reversed(array(below[member]))]
        elif member not in told and (member == name or not below.get(member)):
            told.add(member)
            yield member


def _seconds(value: object) -> float:
    try:
        return max(0.0, number(float(str(value))) or 0.0)
    except ValueError:
        return 0.0
