"""Plans at the edge: words on the command line become a Plan, and a Plan becomes JSON and comes back."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, get_args, get_type_hints
from urllib.parse import urlsplit

from proctor.errors import ConfigError, in_one_line
from proctor.types import Cell, ExamRef, Limits, Model, Numbers, Plan, Rows, Sampling, SourceRef, Think

# What a bare model name says about its provider.
PREFIXES = (
    (re.compile(r"gpt-|o[0-9]"), "openai"),
    (re.compile(r"claude-"), "anthropic"),
    (re.compile(r"gemini-"), "gemini"),
    (re.compile(r"grok-"), "grok"),
)

_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
ORIGINS: tuple[str, ...] = get_args(Rows)
NUMBERS: tuple[str, ...] = get_args(Numbers)
_FILE_ENDINGS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".xlsx", ".toml")


def parse_model(name: str, providers: Sequence[str], *, base_url: str | None = None) -> Model | None:
    """The model that a name means, or None if the name alone does not tell its provider.

    `provider/name` is split at the first `/` if what stands before it is a known provider; the name
    itself may hold further slashes.

    >>> parse_model("ollama/qwen3:8b", ["ollama", "openai"])
    Model(provider='ollama', name='qwen3:8b', base_url=None)
    >>> parse_model("gpt-4o-mini", ["ollama", "openai"]).provider
    'openai'
    """
    provider, slash, rest = name.partition("/")
    need_name("--model", name)
    if slash and provider in providers:
        if not rest:
            raise ConfigError(f"--model {name}: a model name is missing after {provider}/")
        return Model(provider, rest, _checked_url(base_url))
    for pattern, owner in PREFIXES:
        if pattern.match(name) and owner in providers:
            return Model(owner, name, _checked_url(base_url))
    return None


def need_name(what: str, name: str) -> None:
    """Raises ConfigError unless the name is one printable line, as lists, logs and terminals show it."""
    if not name.isprintable():
        raise ConfigError(f"{what} {in_one_line(name)[:80]!r}: give one line of printable characters")


def _checked_url(url: str | None) -> str | None:
    """A base URL that may be stored: http(s), and without a user name or password in it."""
    if url is None:
        return None
    text = url if "://" in url else f"http://{url}"
    if "@" in re.split("[/?#]", text.partition("://")[2])[0]:
        raise ConfigError(
            "--base-url holds a user name or password, and addresses are stored with results; "
            "give the key in the provider's variable (OPENAI_API_KEY) instead"
        )
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a bracket that does not close, a port that is no number
        usable = False
    if not usable:
        raise ConfigError(f"--base-url {url}: give an address such as http://127.0.0.1:8000/v1")
    need_name("--base-url", text)
    return parts.geturl().rstrip("/")


Uploaded = Callable[[str], ExamRef | None]


def parse_source(
    text: str, suites: Sequence[str], *, uploaded: Uploaded = lambda name: None, **choices: Any
) -> ExamRef:
    """A suite by its name in any case, a file by its path, or a data set; `choices` are ExamRef's other fields.

    `uploaded` finds the data set that a name means. Raises ConfigError if it is none of them.
    """
    rows = choices.get("rows")
    if rows is not None and rows not in ORIGINS:
        raise ConfigError(f"rows={rows!r}: where rows come from: {', '.join(ORIGINS)}; limit= says how many")
    if (numbers := choices.get("numbers")) not in (None, *NUMBERS):
        raise ConfigError(f"numbers={numbers!r}: what numbers as answers mean: {', '.join(NUMBERS)}")
    path = Path(text)
    # A file called "GLUE" is meant by its name; "glue" is the suite whatever lies in the folder.
    if text in suites or (text.lower() in suites and not path.is_file()):
        return ExamRef("suite", text.lower(), **choices)
    if path.is_file():
        return ExamRef("file", str(path.resolve()), **choices)
    if (found := uploaded(text)) is not None:
        return replace(found, **{name: value for name, value in choices.items() if value})
    if path.suffix.lower() in _FILE_ENDINGS or len(path.parts) > 1:
        raise ConfigError(
            f"No file {text}. Give a file of questions (JSONL, CSV, XLSX, ...) or a suite: {', '.join(suites)}"
        )
    raise ConfigError(
        f"Invalid benchmark suite. Supported: {', '.join(suites)}; or the path of a file of questions, or a data "
        "set (`proctor dataset list`)"
    )


def parse_duration(text: str) -> float:
    """Seconds from "90s", "10m", "1.5h", "1h30m" or a bare number of seconds.

    >>> parse_duration("1h30m")
    5400.0
    """
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd])", text)
    if parts and "".join(a + b for a, b in parts) == text:
        return sum(float(amount) * _UNITS_S[unit] for amount, unit in parts)
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    raise ConfigError(f"{text!r} is no duration; write 90s, 10m, 1.5h or 1h30m")


def unless_free(number: int | None) -> int | None:
    """None for -1, which is how Ollama writes "no limit" and "no fixed seed"."""
    return None if number == -1 else number


def parse_think(text: str | None) -> Think | None:
    """`--think`: on, off, or an effort."""
    table: dict[str, Think] = {
        "on": True,
        "off": False,
        "low": "low",
        "medium": "medium",
        "high": "high",
        "max": "max",
    }
    if text is None:
        return None
    if text not in table:
        raise ConfigError(f"--think {text}: choose from {', '.join(table)}")
    return table[text]


def check(plan: Plan) -> Plan:
    """The plan, if its numbers can be meant; else ConfigError naming the option."""
    if not plan.cells:
        raise ConfigError("No model given: add --model PROVIDER/NAME (`proctor models` lists them)")
    for cell in plan.cells:
        _check_ranges(cell)
    if doubled := sorted({str(c.model) for c in plan.cells if plan.cells.count(c) > 1}):
        raise ConfigError(f"--model {doubled[0]} is given twice; to ask a model again, run it again")
    return plan


# option, low, high: the closed ranges that servers accept.
_RANGES: tuple[tuple[str, float, float], ...] = (
    ("temperature", 0, 2),
    ("top_p", 0, 1),
    ("top_k", 0, 100),
    ("min_p", 0, 1),
    ("repeat_penalty", 0, 10),
    ("repeat_last_n", -1, 1_000_000),
    ("max_tokens", 1, 10_000_000),
    ("context_tokens", 1, 100_000_000),
)


def _check_ranges(cell: Cell) -> None:
    for name, low, high in _RANGES:
        value = getattr(cell.sampling, name)
        if value is not None and not low <= value <= high:
            raise ConfigError(f"--{name.replace('_', '-')} {value}: must lie between {low:g} and {high:g}")
    limits = cell.limits
    for name, value in (
        ("--parallel", limits.parallel),
        ("--for", limits.for_s),
        ("--max-cost", limits.max_cost_usd),
        ("--max-total-tokens", limits.max_total_tokens),
        ("--timeout", limits.timeout_s),
        ("--request-timeout", limits.request_timeout_s),
        ("--limit", cell.source.limit if isinstance(cell.source, ExamRef) else None),
        ("--repeats", cell.repeats),
    ):
        if value is not None and not 0 < value < math.inf:  # NaN is neither
            raise ConfigError(f"{name} {value:g}: must be more than 0, and finite")
    if not 0 <= limits.wait_for_server_s < math.inf:
        raise ConfigError(f"--wait-for-server {limits.wait_for_server_s:g}: must be 0 or more, and finite")


def share_limits(limits: Limits, *, spent_s: float, spent_usd: float, runs_left: int) -> Limits:
    """What one of `runs_left` runs may use of a budget that the whole command was given.

    >>> share_limits(Limits(for_s=600), spent_s=100, spent_usd=0, runs_left=2).for_s
    250.0
    """

    def left(total: float | None, spent: float) -> float | None:
        return None if total is None else max(0.0, total - spent) / runs_left

    return replace(
        limits, for_s=left(limits.for_s, spent_s), max_cost_usd=left(limits.max_cost_usd, spent_usd)
    )


def cell_to_json(cell: Cell) -> str:
    """The cell as JSON text; `cell_from_json` gives an equal cell back."""
    return json.dumps(_cell(cell), ensure_ascii=False, sort_keys=True)


_LATER = frozenset(
    {"columns", "sheet", "content"}
)  # written where they say something: older versions read the rest


def _cell(cell: Cell) -> dict[str, Any]:
    record = asdict(cell)
    record["source"] = {
        name: value for name, value in record["source"].items() if value or name not in _LATER
    }
    return record


def cell_from_json(text: str) -> Cell:
    """Raises ConfigError on keys that this version does not know."""
    record = json.loads(text)
    return Cell(
        model=_build(Model, record.pop("model")),
        source=_source(record.pop("source")),
        sampling=_build(Sampling, record.pop("sampling")),
        limits=_build(Limits, record.pop("limits")),
        **_known(Cell, record),
    )


_REFERENCES = {kind: each for each in get_args(SourceRef) for kind in get_args(get_type_hints(each)["kind"])}
_OF_EXAMS = frozenset(field.name for field in fields(ExamRef))


def _source(record: Mapping[str, Any]) -> SourceRef:
    """The reference of the kind that the record names. Older versions gave every kind the fields of an exam."""
    kind = record.get("kind")
    reference = _REFERENCES.get(str(kind))
    if reference is None:
        raise ConfigError(
            f"A stored source is of the kind {kind!r}, which this version does not know: update proctor"
        )
    unused = _OF_EXAMS - {field.name for field in fields(reference)}
    built: SourceRef = _build(
        reference, {name: value for name, value in record.items() if name not in unused}
    )
    return built


def plan_to_json(plan: Plan) -> str:
    return json.dumps(
        {"name": plan.name, "replies": plan.replies, "cells": [_cell(c) for c in plan.cells]},
        ensure_ascii=False,
        sort_keys=True,
    )


def _build(kind: Any, record: Mapping[str, Any]) -> Any:
    listed = {f.name for f in fields(kind) if "tuple" in str(f.type)}
    return kind(**{k: tuple(v) if k in listed else v for k, v in _known(kind, record).items()})


def _known(kind: Any, record: Mapping[str, Any]) -> dict[str, Any]:
    names = {f.name for f in fields(kind)}
    if unknown := sorted(record.keys() - names):
        raise ConfigError(
            f"A stored {kind.__name__} holds {unknown[0]!r}, which this version does not know: update proctor"
        )
    return dict(record)


def check_think(value: object) -> None:
    """Raises ConfigError unless `value` is a Think or None (for values that come from Python)."""
    efforts = get_args(get_args(Think)[1])
    if not (value is None or isinstance(value, bool) or value in efforts):
        raise ConfigError(f"think={value!r}: give True, False or one of {', '.join(efforts)}")
