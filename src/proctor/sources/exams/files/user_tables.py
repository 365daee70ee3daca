"""The TOML of a user's suite, parsed once: what it may say, and what is wrong with what it says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal

from proctor.errors import ConfigError
from proctor.grading.formats import AnswerFormat, Label
from proctor.sources.exams.tables.tasks import SUITES

KINDS: Mapping[str, AnswerFormat] = {"choices": "choices", "labels": "labels", "text": "text"}
Aggregate = Literal["micro", "macro"]
AGGREGATES: Mapping[str, Aggregate] = {"micro": "micro", "macro": "macro"}
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,60}")

SUITE_KEYS = ("name", "title", "aggregate")
TASK_KEYS = (
    "key",
    "title",
    "file",
    "kind",
    "answer_type",
    "labels",
    "metrics",
    "positive",
    "prompt",
    "dev_file",
    "cluster",
    "grader",
)
LABEL_KEYS = ("name", "synonyms", "shown")


@dataclass(frozen=True, slots=True)
class UserTask:
    """A task as the TOML describes it; None where it leaves the choice to the rows."""

    key: str
    title: str
    file: str
    kind: AnswerFormat | None
    labels: tuple[Label, ...]
    metrics: tuple[str, ...]
    positive: str | None
    prompt: str | None
    dev_file: str | None
    cluster: str | None
    grader: Any  # as the TOML has it: a text or a table; read where the folder of its files is known


@dataclass(frozen=True, slots=True)
class UserSuite:
    name: str
    title: str
    aggregate: Aggregate
    tasks: tuple[UserTask, ...]


def parse_suite(raw: Mapping[str, Any], place: str) -> UserSuite:
    """The suite that a parsed TOML file describes. Raises: ConfigError naming the key and what is known."""
    check_keys(raw, ("suite", "tasks", "judge"), place)  # of a judge, service/judges/in_suites.py knows more
    head, tables = raw.get("suite"), raw.get("tasks")
    if not isinstance(head, dict):
        raise ConfigError(f"{place}: a table [suite] with a name is missing")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise ConfigError(f"{place}: there is no [[tasks]] table; each describes one task")
    where = f"{place}, [suite]"
    check_keys(head, SUITE_KEYS, where)
    name = name_of(head, "name", where)
    if name in SUITES:
        raise ConfigError(f"{where}: {name!r} is one of proctor's suites; choose another name")
    tasks = tuple(parse_task(table, f"{place}, [[tasks]] {number}") for number, table in enumerate(tables, 1))
    keys = [task.key for task in tasks]
    if twice := [key for key in keys if keys.count(key) > 1]:
        raise ConfigError(f"{place}: two tasks have the key {twice[0]!r}; keys have to differ")
    title = text_of(head, "title", where) or name
    return UserSuite(name, title, one_of(head, "aggregate", AGGREGATES, where) or "micro", tasks)


def parse_task(raw: Mapping[str, Any], where: str) -> UserTask:
    """Raises: ConfigError."""
    check_keys(raw, TASK_KEYS, where)
    key = name_of(raw, "key", where)
    where = f"{where} ({key})"
    if "kind" in raw and "answer_type" in raw:
        raise ConfigError(f"{where}: kind and answer_type say the same; leave one out")
    kind = one_of(raw, "kind", KINDS, where) or one_of(raw, "answer_type", KINDS, where)
    labels = labels_of(raw, where)
    if labels and kind not in (None, "labels"):
        raise ConfigError(f"{where}: labels go with kind = 'labels', not with {kind!r}")
    prompt = text_of(raw, "prompt", where)
    return UserTask(
        key=key,
        title=text_of(raw, "title", where) or key,
        file=path_of(raw, "file", where) or missing("file", where),
        kind=kind,
        labels=labels,
        metrics=texts_of(raw, "metrics", where) or ("accuracy",),
        positive=text_of(raw, "positive", where),
        prompt=prompt.strip("\n") if prompt else None,
        dev_file=path_of(raw, "dev_file", where),
        cluster=text_of(raw, "cluster", where),
        grader=raw.get("grader"),
    )


def labels_of(raw: Mapping[str, Any], where: str) -> tuple[Label, ...]:
    """Labels as names, or as tables with name, synonyms and shown."""
    listed = raw.get("labels", [])
    if not isinstance(listed, list):
        raise ConfigError(f"{where}: labels is a list of names")
    labels = tuple(label_of(one, f"{where}, labels") for one in listed)
    names = [label.name for label in labels]
    if listed and (len(names) < 2 or len(set(names)) < len(names)):
        raise ConfigError(f"{where}: labels are two or more different names, not {', '.join(names)}")
    return labels


def label_of(one: Any, where: str) -> Label:
    if isinstance(one, str) and one.strip():
        return Label(one.strip())
    if not isinstance(one, dict):
        raise ConfigError(f"{where}: a label is a name, or a table with the keys {', '.join(LABEL_KEYS)}")
    check_keys(one, LABEL_KEYS, where)
    name = text_of(one, "name", where) or missing("name", where)
    return Label(name, texts_of(one, "synonyms", where), text_of(one, "shown", where) or "")


def check_keys(raw: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    if unknown := sorted(raw.keys() - set(known)):
        raise ConfigError(f"{where}: unknown key {unknown[0]!r}; known: {', '.join(known)}")


def missing(name: str, where: str) -> str:
    raise ConfigError(f"{where}: the key {name!r} is missing")


def text_of(raw: Mapping[str, Any], name: str, where: str) -> str | None:
    value = raw.get(name)
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise ConfigError(f"{where}: {name} is text, not {value!r}")
    return value


def texts_of(raw: Mapping[str, Any], name: str, where: str) -> tuple[str, ...]:
    value = raw.get(name, [])
    if not isinstance(value, list) or not all(isinstance(one, str) and one.strip() for one in value):
        raise ConfigError(f"{where}: {name} is a list of texts, not {value!r}")
    return tuple(dict.fromkeys(value))


def name_of(raw: Mapping[str, Any], name: str, where: str) -> str:
    value = text_of(raw, name, where) or missing(name, where)
    if NAME.fullmatch(value) is None:
        raise ConfigError(f"{where}: {name} is {value!r}; letters, digits, '_', '-' and '.' make a name")
    return value


def path_of(raw: Mapping[str, Any], name: str, where: str) -> str | None:
    """A path relative to the TOML's folder."""
    value = text_of(raw, name, where)
    if value is not None and PurePath(value).is_absolute():
        raise ConfigError(f"{where}: {name} is a path relative to the folder of the TOML file, not {value}")
    return value


def one_of(raw: Mapping[str, Any], name: str, known: Mapping[str, Any], where: str) -> Any:
    value = text_of(raw, name, where)
    if value is not None and value not in known:
        raise ConfigError(f"{where}: {name} is one of {', '.join(known)}, not {value!r}")
    return None if value is None else known[value]
