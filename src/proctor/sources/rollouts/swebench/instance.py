"""A row of SWE-bench's kind: which commit, what is told, which patch solves it, and which tests must pass then.

The format is that of SWE-bench's datasets; lists of test ids may stand as JSON inside of a text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor.errors import DataError
from proctor.sources.rollouts.faults import JsonTold, TaskFaults, named
from proctor.sources.rollouts.meta import is_task_id

ROWS = "instance.jsonl"
MOST_BYTES = 2_000_000_000  # of a file of instances
_ODD = re.compile(r"[^\w.@+-]+")


@dataclass(frozen=True, slots=True)
class Instance:
    """One row. `fails` are ids of tests that fail before the fix and pass after it, `passes` those that always pass."""

    id: str
    repo: str
    base: str
    problem: str
    patch: str
    test_patch: str
    fails: tuple[str, ...]
    passes: tuple[str, ...]
    version: str | None = None

    @property
    def name(self) -> str:
        """As a task's id."""
        found = _ODD.sub("-", self.id).strip("-.")
        return found if is_task_id(found) else "instance"


def named_instance(path: Path) -> tuple[Path, str | None] | None:
    """The file of instances that a path means, and which of them: FILE.jsonl, FILE.jsonl#ID, or a folder of one.

    None where it means no instance.
    """
    text = str(path)
    file, mark, ident = text.partition("#")
    if file.endswith((".jsonl", ".json")) and (mark or Path(file).is_file()):
        return Path(file), ident or None
    folder = Path(file)
    return (folder / ROWS, ident or None) if (folder / ROWS).is_file() else None


def find_instance(file: Path, ident: str | None) -> Instance:
    """Raises: DataError where it is not there, cannot be read, or is not the only one."""
    found = [row for row in _rows(file) if ident is None or row.get("instance_id") == ident]
    if len(found) == 1:
        faults = TaskFaults(file)
        instance = instance_of(found[0], file.name, faults)
        faults.settle()
        return instance
    names = [str(row.get("instance_id")) for row in found][:5]
    if ident is None and found:
        raise DataError(
            f"{file} holds {len(found):,} instances ({', '.join(names)}, ...): name one, {file.name}#{names[0]}"
        )
    raise DataError(
        f"{file}: {'two rows are called' if found else 'there is no instance'} {ident or 'in it'}"
    )


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    try:
        if file.stat().st_size > MOST_BYTES:
            raise DataError(f"{file} is too large to be read for one instance")
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeError) as error:
        raise DataError(f"{file}: {error}") from None
    if text.lstrip().startswith("["):
        rows = _json(file, text, 1)
        yield from (row for row in rows if isinstance(row, dict)) if isinstance(rows, list) else ()
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            row = _json(file, line, number)
            if not isinstance(row, dict):
                raise DataError(f"{file}, line {number}: {named(row)} where an object belongs")
            yield row


def _json(file: Path, text: str, number: int) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{file}, line {number}: no JSON: {error}") from None


def instance_of(row: dict[str, Any], file: str, faults: TaskFaults) -> Instance:
    """What is wrong with the row is added to the faults."""
    told = JsonTold(row, file, faults)
    ident, repo, base = (_needed(told, key) for key in ("instance_id", "repo", "base_commit"))
    problem, test_patch = _needed(told, "problem_statement"), _needed(told, "test_patch")
    fails = _ids(told, "FAIL_TO_PASS")
    if not fails:
        told.fault("FAIL_TO_PASS", "names no test, so that nothing could be scored")
    version = told.left.get("version")
    return Instance(
        ident,
        repo,
        base,
        problem,
        told.text("patch") or "",
        test_patch,
        fails,
        _ids(told, "PASS_TO_PASS"),
        str(version) if isinstance(version, str | int | float) else None,
    )


def _needed(told: JsonTold, key: str) -> str:
    text = told.text(key)
    if text is None or not text.strip():
        told.fault(key, "is missing")
    return text or ""


def _ids(told: JsonTold, key: str) -> tuple[str, ...]:
    """A list of texts, or such a list as JSON in a text."""
    value = told.left.pop(key, None)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            told.fault(key, "is no JSON")
            return ()
    if value is None:
        return ()
    if not _are_texts(value):
        told.fault(key, f"{named(value)} where a list of test ids belongs")
        return ()
    return tuple(dict.fromkeys(value))


def _are_texts(value: object) -> bool:
    return isinstance(value, Sequence) and all(isinstance(each, str) for each in value)
