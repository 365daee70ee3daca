"""`replay/NAME`: replies made elsewhere, read from a JSONL file and scored like any model's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from proctor.errors import BadRequest, ConfigError, DataError
from proctor.providers.contract import ALL_SAMPLING, Opening, Pacing
from proctor.providers.unsaid import finish_of
from proctor.types import Item, ListedModel, Model, Reply, Sampling

_NO_REPLY = "no reply to this item in the file"


@dataclass(frozen=True, slots=True)
class Recorded:
    """One line: the texts given to one item (several for several repeats), or why there is none."""

    id: str | None
    replies: tuple[Reply, ...]
    error: str | None = None


class Replay:
    """Answers from a table. Made by `open_replay`."""

    adjustments: tuple[str, ...] = ()
    unsent = ALL_SAMPLING
    address = ""
    pacing: Pacing | None = None

    def __init__(self, model: Model, path: Path, table: Mapping[str, Recorded], joined: str) -> None:
        self._model = model
        self._path = path
        self._table = table
        self._joined = joined

    async def check(self) -> ListedModel:
        return ListedModel(self._model, note=f"{self._path.name}, joined {self._joined}")

    async def warm(self) -> None:
        """Nothing to load."""

    async def __call__(self, item: Item, repeat: int) -> Reply:
        recorded = self._table.get(item.id)
        if recorded is None or recorded.error:
            raise BadRequest(f"{self._path.name}: {recorded.error if recorded else _NO_REPLY}")
        if not recorded.replies:
            return Reply("")  # the model was asked and said nothing
        if repeat >= len(recorded.replies):
            raise BadRequest(
                f"{self._path.name}: {item.id} has {len(recorded.replies)} replies, not {repeat + 1}"
            )
        return recorded.replies[repeat]


def open_replay(model: Model, sampling: Sampling, opening: Opening) -> Replay:
    """Raises: ConfigError when the file is missing or cannot be joined with the items, DataError on a bad line."""
    path = opening.replies
    if path is None:
        raise ConfigError(f"--model {model}: name the file that holds its replies with --replies FILE")
    if not path.is_file():
        raise ConfigError(f"--replies {path}: no such file")
    table, joined = join(read_replies(path), opening.row_ids, path)
    return Replay(model, path, table, joined)


async def list_replay(opening: Opening) -> list[ListedModel]:
    return [ListedModel(Model("replay", "NAME"), note="any name, with --replies FILE")]


def read_replies(path: Path) -> list[Recorded]:
    """The lines of a file of replies; blank lines are passed over. Raises DataError naming the line."""
    recorded = []
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line := line.removeprefix(b"\xef\xbb\xbf").strip():
                recorded.append(_parse(line, f"{path.name}, line {number}"))
    if not recorded:
        raise DataError(f"{path}: the file holds no replies")
    return recorded


def join(recorded: Sequence[Recorded], row_ids: Sequence[str], path: Path) -> tuple[dict[str, Recorded], str]:
    """Replies by item id, and how they were joined: by id where ids match, else by row order.

    An id matches a whole item id ("boolq/17") or its part after the slash. Raises ConfigError when
    neither way is certain.
    """
    named = [r for r in recorded if r.id is not None]
    whole = set(row_ids)
    short = {row.partition("/")[2]: row for row in row_ids}
    table: dict[str, Recorded] = {}
    for r in named:
        row = r.id if r.id in whole else short.get(r.id or "") if len(short) == len(whole) else None
        if row is None:
            continue
        if row in table:
            raise ConfigError(f"{path}: two lines reply to {row}; keep one")
        table[row] = r
    # Sequence numbers such as "0001" beside rows numbered from 0 could match a few ids by chance.
    if table and (len(table) == len(named) or len(table) == len(row_ids)):
        return table, f"by id ({len(table)} of {len(row_ids)} rows)"
    if len(recorded) == len(row_ids):
        return dict(
            zip(row_ids, recorded, strict=True)
        ), f"by row order ({len(row_ids)} rows; ids do not match)"
    raise ConfigError(
        f"{path}: {len(recorded)} replies for {len(row_ids)} rows, and {len(table)} ids match, so they "
        "cannot be joined. Give each line the item's id (`proctor export` shows ids), or one line a row"
    )


def _parse(line: bytes, where: str) -> Recorded:
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise DataError(f"{where}: not JSON ({error})") from None
    if not isinstance(record, dict):
        raise DataError(f"{where}: not a JSON object")
    name = record.get("id") if "custom_id" not in record else record["custom_id"]
    ident = None if name is None else str(name)
    if "response" in record or isinstance(record.get("error"), dict | str):
        return _batch_line(record, ident, where)
    for key in ("outputs", "output", "text"):
        if key in record:
            return Recorded(
                ident, tuple(Reply(t, finish=finish_of(t)) for t in _texts(record[key], key, where))
            )
    raise DataError(
        f"{where}: no reply; give outputs (a list of texts), output or text, or OpenAI Batch output lines"
    )


def _texts(value: object, key: str, where: str) -> list[str]:
    texts = value if key == "outputs" and isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(t, str) for t in texts):
        raise DataError(f"{where}: {key} must be text{' in a list' if key == 'outputs' else ''}")
    return list(texts)


def _batch_line(record: dict[str, Any], ident: str | None, where: str) -> Recorded:
    """An OpenAI Batch output line; also the older bare response, and errors as text or object."""
    response = record.get("response") or {}
    if not isinstance(response, dict):
        raise DataError(f"{where}: response is no object")
    status = response.get("status_code", 200)
    body = response.get("body", response) or {}
    error = record.get("error") or (body.get("error") if status >= 400 else None)
    if error or status >= 400:
        words = error.get("message") or error if isinstance(error, dict) else error
        return Recorded(
            ident, (), error=f"the batch failed here: {status if status >= 400 else ''} {words}".strip()
        )
    try:
        return Recorded(ident, tuple(_choice(c, body.get("usage") or {}) for c in body["choices"]))
    except (KeyError, TypeError, AttributeError):
        raise DataError(f"{where}: no choices[].message.content in the response") from None


def _choice(choice: dict[str, Any], usage: dict[str, Any]) -> Reply:
    message = choice["message"]
    said = message.get("content") or message.get("refusal") or ""
    ended = choice.get("finish_reason")
    refused = bool(message.get("refusal")) or ended == "content_filter"
    return Reply(
        said,
        reasoning=message.get("reasoning_content"),
        finish="refused"
        if refused
        else "length"
        if ended == "length"
        else "stop"
        if ended
        else finish_of(said),
        input_tokens=usage.get("prompt_tokens"),
        output_tokens=usage.get("completion_tokens"),
    )
