"""Which rows a filter lets through: by columns at once, and one by one where columns cannot tell."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from proctor.grading.graders.regex import SEARCH_S, answer_of, compiled
from proctor.service.batches.find.filters import RANGES, RowFilter
from proctor.store.read.batches.columns import BatchColumns
from proctor.types import Outcome

if TYPE_CHECKING:
    import numpy as np

    Mask = np.ndarray[Any, np.dtype[np.bool_]]

FINISHES = {"content_filter": "refused", "tool_calls": "stop"}  # OpenAI's words for what we keep otherwise
MOST_IDS = 20_000  # with more of them a part of an id is common: it is soon found by asking each
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(-?\d+)\]")


@dataclass(frozen=True, slots=True)
class Sieve:
    """What columns say of the rows: which may be wanted (None: all), and what is still to be asked of each."""

    mask: Mask | None
    asks: tuple[Callable[[int], bool], ...] = ()


def sieve(columns: BatchColumns, wanted: RowFilter) -> Sieve:
    """A filter as far as columns tell."""
    masks = [_status(columns, wanted.status)] if wanted.status else []
    asks: list[Callable[[int], bool]] = []
    if wanted.finish:
        name = FINISHES.get(wanted.finish, wanted.finish)
        masks.append(columns.codes["finish"] < 0 if name == "none" else columns.is_word("finish", name))
    if wanted.candidate is not None and wanted.candidate_by is None:
        masks.append(columns.is_word("cluster", wanted.candidate))
    for name in RANGES:
        low, high = getattr(wanted, name)
        values = columns.measures[name]
        masks += [values >= low] if low is not None else []
        masks += [values <= high] if high is not None else []
    for part, beginning in _parts(wanted):
        ranks = columns.ids_with(part, MOST_IDS, beginning=beginning)
        if ranks is None:
            asks.append(_by_id(columns, part, beginning))
        else:
            masks.append(mask_at(columns, ranks))
    return Sieve(_all_of(masks), tuple(asks))


def mask_at(columns: BatchColumns, ranks: Any) -> Mask:
    import numpy as np

    mask: Mask = np.zeros(len(columns), dtype=np.bool_)
    mask[ranks] = True
    return mask


def _all_of(masks: Sequence[Mask]) -> Mask | None:
    found = masks[0] if masks else None
    for each in masks[1:]:
        found = each if found is None else found & each
    return found


def _parts(wanted: RowFilter) -> list[tuple[str, bool]]:
    """Parts of custom_ids to look for, and whether ids begin so. A candidate that an id tells stands in it."""
    parts = [(wanted.custom_id, False), (wanted.prefix, True)]
    if wanted.candidate_by is not None and not wanted.candidate_by.startswith("$"):
        parts.append((wanted.candidate, False))
    return [(part, beginning) for part, beginning in parts if part]


def _by_id(columns: BatchColumns, part: str, beginning: bool) -> Callable[[int], bool]:
    """For a part that so many ids have that it is sooner asked of each than looked up."""
    return lambda rank: columns.id_of(rank).startswith(part) if beginning else part in columns.id_of(rank)


def candidate_in(custom_id: str, pattern: str) -> str | None:
    """What a request is about, by a regular expression over its custom_id; None where it tells nothing."""
    try:
        match = compiled(pattern).search(custom_id, timeout=SEARCH_S)
    except TimeoutError:
        return None
    return None if match is None else answer_of(match)


def candidate_at(body: Mapping[str, Any], path: str) -> str | None:
    """What a request is about, by a path into its body such as "$.metadata.name" or "$.messages[0].content"."""
    found: Any = body
    for name, place in _STEP.findall(path.removeprefix("$")):
        if place and isinstance(found, list) and -len(found) <= int(place) < len(found):
            found = found[int(place)]
        elif name and isinstance(found, dict) and name in found:
            found = found[name]
        else:
            return None
    return None if found is None else found if isinstance(found, str) else orjson.dumps(found).decode()


def _status(columns: BatchColumns, status: str) -> Mask:
    answered = columns.codes["error_slug"] < 0
    if status in ("answered", "2xx", "200"):
        return answered
    if status == "failed":
        return ~answered
    if status == "none":
        return ~answered & (columns.status < 0)
    if status.endswith("xx"):
        of_class: Mask = columns.status // 100 == int(status[0])
        return of_class
    if status.isdigit():
        with_code: Mask = columns.status == int(status)
        return with_code
    if status in set(Outcome):
        return columns.is_word("outcome", status)
    return columns.is_word("error_slug", status)
