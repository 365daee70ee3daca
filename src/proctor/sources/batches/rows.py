"""Rows of a table as requests: which column is what, and templates that make prompts of them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from proctor.errors import ConfigError
from proctor.references import BatchRef
from proctor.sources.batches.checked import BadRequestLine
from proctor.sources.batches.dialects import CHAT, COMPLETIONS, RESPONSES

PARTS: Mapping[str, tuple[str, ...]] = {
    "custom_id": ("custom_id", "id", "key", "row_id"),
    "prompt": ("prompt", "text", "question", "input", "query", "user"),
    "system": ("system", "system_prompt", "instructions"),
    "messages": ("messages",),
}
SLOT = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class RowReading:
    """How a row becomes a request: columns by what they are, and templates in whose braces columns are named."""

    columns: Mapping[str, str]
    template: str | None
    system: str | None
    endpoint: str

    def id_of(self, row: Mapping[str, Any], number: int) -> str:
        """The row's id, or `line-N` where no column has one. Raises: BadRequestLine."""
        value = row.get(self._column("custom_id", row) or "")
        return f"line-{number}" if value in (None, "") else str(value)

    def body_of(self, row: Mapping[str, Any]) -> bytes:
        """Raises: BadRequestLine."""
        system = self._said(self.system, "system", row)
        messages = self._messages(row)
        if messages is None:
            prompt = self._said(self.template, "prompt", row)
            if not prompt:
                raise BadRequestLine(
                    "missing_required_parameter", f"no prompt: {self._advice(row)}", "prompt"
                )
            messages = [{"role": "user", "content": prompt}]
        else:
            prompt = "\n\n".join(str(each.get("content", "")) for each in messages)
        if self.endpoint == CHAT:
            first = [{"role": "system", "content": system}] if system else []
            return orjson.dumps({"messages": [*first, *messages]})
        if self.endpoint == RESPONSES:
            return orjson.dumps({"instructions": system, "input": prompt} if system else {"input": prompt})
        whole = f"{system}\n\n{prompt}" if system else prompt
        return orjson.dumps({"prompt": whole} if self.endpoint == COMPLETIONS else {"input": whole})

    def _column(self, part: str, row: Mapping[str, Any]) -> str | None:
        if (named := self.columns.get(part)) is not None:
            if named not in row:
                said = f"the row has no column {named!r} but {', '.join(row)}"
                raise BadRequestLine("missing_column", said, named)
            return named
        by_name = {name.lower(): name for name in row}
        return next((by_name[name] for name in PARTS[part] if name in by_name), None)

    def _said(self, template: str | None, part: str, row: Mapping[str, Any]) -> str:
        if template is not None:
            return filled(template, row)
        return _text(row.get(self._column(part, row) or ""))

    def _messages(self, row: Mapping[str, Any]) -> list[Any] | None:
        if self.template is not None or "prompt" in self.columns:
            return None
        value = row.get(self._column("messages", row) or "")
        if isinstance(value, str) and value.lstrip().startswith("["):
            try:
                value = json.loads(value)
            except ValueError as error:
                raise BadRequestLine("invalid_type", f"messages is no JSON: {error}", "messages") from None
        return (
            value
            if isinstance(value, list) and value and all(isinstance(each, dict) for each in value)
            else None
        )

    def _advice(self, row: Mapping[str, Any]) -> str:
        if self.template is not None or self._column("prompt", row):
            return "the row has none"
        return f"name the column (prompt=...) or a template such as 'Classify: {{text}}'; columns: {', '.join(row)}"


def filled(template: str, row: Mapping[str, Any]) -> str:
    """The template with the row's values in place of names in braces. Raises: BadRequestLine.

    >>> filled("Is {x} {{so}}?", {"x": 1})
    'Is 1 {so}?'
    """

    def one(slot: re.Match[str]) -> str:
        if slot[1] is None:
            return slot[0][0]
        if slot[1] not in row:
            raise BadRequestLine(
                "missing_column",
                f"the template names {slot[1]!r}, and the row has no such column but {', '.join(row)}; a brace of the "
                "text itself is written twice",
                slot[1],
            )
        return _text(row[slot[1]])

    return SLOT.sub(one, template)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def row_reading(ref: BatchRef) -> RowReading:
    """Raises: ConfigError."""
    columns = {}
    for said in ref.columns:
        part, equals, column = said.partition("=")
        if not equals or part.strip() not in PARTS:
            raise ConfigError(f"Columns are given as {'|'.join(PARTS)}=COLUMN, not {said!r}")
        columns[part.strip()] = column.strip()
    return RowReading(columns, ref.template, ref.system, ref.endpoint or CHAT)


def given_fields(fields: tuple[str, ...]) -> dict[str, str]:
    """Fields of bodies, by name, as texts of JSON: numbers, true, lists and objects as they are, all else as text.

    Raises: ConfigError.

    >>> given_fields(("max_tokens=200", "stop=END"))
    {'max_tokens': '200', 'stop': '"END"'}
    """
    found = {}
    for said in fields:
        name, equals, value = said.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"Fields of bodies are given as NAME=VALUE, not {said!r}")
        if name.strip() in ("model", "stream", "messages", "prompt", "input"):
            raise ConfigError(f"{name.strip()} is no field to fill in: the run and the lines say what it is")
        try:
            json.loads(value)
            found[name.strip()] = value.strip()
        except ValueError:
            found[name.strip()] = json.dumps(value)
    return found
