"""Right answers of requests: a field of the line, which is not sent, or a file of answers by custom_id."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proctor.errors import ConfigError, DataError
from proctor.references import BatchRef
from proctor.sources.batches import raw
from proctor.sources.batches.paths import Steps, steps_of, value_at
from proctor.sources.exams.files.records import Record, read_records
from proctor.types import Gold

IDS = ("custom_id", "id", "key")
ANSWERS = ("gold", "answer", "answers", "target", "label", "expected", "correct")


@dataclass(frozen=True, slots=True)
class GoldField:
    """Right answers that stand in the lines. A path that is not in the line is looked for in its body."""

    steps: Steps

    def of(self, _custom_id: str, record: Mapping[str, Any], envelope: str | None) -> Gold | None:
        value = value_at(record, self.steps)
        if value is None and envelope is not None:
            value = value_at(record[envelope], self.steps)
        return gold_of(value)

    def unsent(self, body: bytes, record: Mapping[str, Any], envelope: str | None) -> bytes:
        """The body without its right answer."""
        steps = self.steps
        if envelope is not None and value_at(record, steps) is not None:
            if steps[0] != envelope:
                return body
            steps = steps[1:]
        inside = record if envelope is None else record[envelope]
        if not steps or value_at(inside, steps) is None:
            return body
        return raw.without(body.decode(), steps).encode()


@dataclass(frozen=True, slots=True)
class GoldFile:
    """Right answers of a file, by custom_id."""

    name: str
    answers: Mapping[str, Gold] = field(repr=False)

    def of(self, custom_id: str, _record: Mapping[str, Any], _envelope: str | None) -> Gold | None:
        return self.answers.get(custom_id)

    def unsent(self, body: bytes, _record: Mapping[str, Any], _envelope: str | None) -> bytes:
        return body


def gold_of(value: Any) -> Gold | None:
    """A value as a right answer: a list is several, the first of them the target.

    >>> gold_of(["Paris", "paris"])
    Gold(target='Paris', aliases=('paris',))
    """
    values = value if isinstance(value, list) else [value]
    texts = [text for each in values if (text := _text(each)) is not None]
    return Gold(texts[0], tuple(texts[1:])) if texts else None


def _text(value: Any) -> str | None:
    if value is None or value == "":
        return None
    return raw.whole(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def gold_named(ref: BatchRef) -> GoldField | GoldFile | None:
    """Where a reference says that the right answers are. Raises: ConfigError, DataError."""
    if ref.gold is None:
        return None
    path = Path(ref.gold)
    if path.is_absolute():
        if ref.content is not None:
            raise ConfigError(
                "Right answers of an uploaded file are a field of its lines: a file has no path here"
            )
        return _read(path)
    return GoldField(steps_of(ref.gold, "gold"))


def _read(path: Path) -> GoldFile:
    table = read_records(path, [frozenset(IDS), frozenset(ANSWERS)])
    table.faults.settle(len(table.records), lenient=False)
    by_name = {name.lower(): name for name in table.columns}
    ident = next((by_name[name] for name in IDS if name in by_name), None)
    answer = next((by_name[name] for name in ANSWERS if name in by_name), None)
    if ident is None or answer is None:
        raise DataError(
            f"{path.name}: a file of right answers has the columns custom_id and gold (or answer); "
            f"it has {', '.join(table.columns)}"
        )
    found: dict[str, Gold] = {}
    for record in table.records:
        _add(found, record, ident, answer, path.name)
    return GoldFile(path.name, found)


def _add(found: dict[str, Gold], record: Record, ident: str, answer: str, name: str) -> None:
    custom_id = str(record.values.get(ident))
    if custom_id in found:
        raise DataError(f"{name}, {record.where}: {custom_id!r} has a right answer already, further up")
    if (gold := gold_of(record.values.get(answer))) is not None:
        found[custom_id] = gold
