"""`replay/NAME`: replies made elsewhere, read from a JSONL file and scored like any model's."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from proctor.errors import BadRequest, ConfigError
from proctor.offered import ListedModel
from proctor.providers.contract import ALL_SAMPLING, Opening, Pacing
from proctor.replies.finish import UNSAID
from proctor.replies.lines import Recorded, read_replies
from proctor.types import Item, Model, Reply, Sampling

NUMBERED = re.compile(r"(.*?)(\d{1,15})", re.DOTALL)  # an id that ends in a number
_NO_REPLY = "no reply to this item in the file"


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
            return Reply("", finish=UNSAID)  # the model was asked and said nothing
        if repeat >= len(recorded.replies):
            raise BadRequest(
                f"{self._path.name}: {item.id} has {_replies(len(recorded.replies))}, not {repeat + 1}"
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
            raise ConfigError(f"{path}: two lines reply to {row}; keep one, or give both texts as outputs")
        table[row] = r
    # Sequence numbers such as "0001" beside rows numbered from 0 could match a few ids by chance.
    if table and (len(table) == len(named) or len(table) == len(row_ids)):
        return table, f"by id ({len(table)} of {len(row_ids)} rows)"
    if len(recorded) == len(row_ids) and (ordered := in_order(recorded)) is not None:
        lines, how = ordered
        return dict(zip(row_ids, lines, strict=True)), f"{how} ({len(row_ids)} rows; ids do not match)"
    raise ConfigError(
        f"{path}: {_replies(len(recorded))} for {len(row_ids)} rows, and {_ids(named, table)}, so they "
        "cannot be joined. Give each line the item's id (`proctor export` shows ids), or one line a row in its order"
    )


def in_order(recorded: Sequence[Recorded]) -> tuple[Sequence[Recorded], str] | None:
    """The lines in the order of the rows, and how that was told; None where they may be in any order.

    Ids such as request-1, request-2 say it. Where they do not, the order of the lines is taken for that of the
    rows, but not from a batch, whose output comes in no order.
    """
    found = [match for r in recorded if (match := NUMBERED.fullmatch(r.id or ""))]
    numbers = [int(match[2]) for match in found]
    if len(set(numbers)) == len(recorded) and len({match[1] for match in found}) == 1:
        if numbers == sorted(numbers):
            return recorded, "by row order"
        if max(numbers) - min(numbers) == len(numbers) - 1:
            by_number = dict(zip(numbers, recorded, strict=True))
            return [by_number[number] for number in sorted(numbers)], "by the numbers in their ids"
        return None
    return None if any(r.batch for r in recorded) else (recorded, "by row order")


def _replies(n: int) -> str:
    return "1 reply" if n == 1 else f"{n:,} replies"


def _ids(named: Sequence[Recorded], table: Mapping[str, Recorded]) -> str:
    """What is wrong with the ids, with one of each side that shows it."""
    if not named:
        return "no line has an id"
    known = {r.id for r in table.values()}
    odd = next((r.id for r in named if r.id not in known), None)
    return f"{len(table):,} of {len(named):,} ids match" + (f" ({odd!r} is no row's)" if odd else "")
