"""What filters and orders need of a batch's rows, as columns in memory: a filter of a million takes milliseconds.

Rows are known by their rank: their number, from 0, in the order of (position, repeat). Columns are made of narrow rows,
and those of an ended run are kept in a file beside its words (batch_words.py), below PROCTOR_HOME; the file is a view,
made anew where it is gone or older than the run's end.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

from proctor.store.read.batches.rows import Narrow, Place

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[Any, np.dtype[Any]]

END = b"\xff"  # between ids; in no UTF-8
VERSION = 1
REPEATS = 1024  # a place as one number: position * REPEATS + repeat
MEASURES = ("latency_s", "input_tokens", "output_tokens")
NAMES = ("outcome", "finish", "error_slug", "cluster")
AT_ONCE = 20_000
KEPT_IN_MEMORY = 2  # files; 70 MB each for a million rows


@dataclass(frozen=True, slots=True, eq=False)
class BatchColumns:
    """The rows of a run, or some of them. Texts that repeat are numbers into `words`, -1 where there is none."""

    places: Numbers  # ascending
    codes: dict[str, Numbers]
    words: dict[str, tuple[str, ...]]
    status: Numbers  # -1 where there was none
    measures: dict[str, Numbers]  # not a number where nothing was measured
    orders: dict[str, Numbers]  # ranks by each measure, those without one last
    ids: bytes  # each with END before and behind it
    starts: Numbers  # where each id begins

    def __len__(self) -> int:
        return len(self.places)

    def id_of(self, rank: int) -> str:
        begin = int(self.starts[rank])
        return self.ids[begin : self.ids.index(END, begin)].decode()

    def place_of(self, rank: int) -> Place:
        position, repeat = divmod(int(self.places[rank]), REPEATS)
        return position, repeat

    def is_word(self, column: str, word: str) -> Numbers:
        """Which rows have this text in a column of texts."""
        words = self.words[column]
        mask: Numbers = self.codes[column] == (words.index(word) if word in words else -2)
        return mask

    def ids_with(self, part: str, most: int, *, beginning: bool = False) -> Numbers | None:
        """The ranks of ids that hold a part, or begin so, ascending; None where there are more than `most`."""
        import numpy as np

        wanted = re.compile(re.escape((END if beginning else b"") + part.encode()))
        hits = [match.start() for match in islice(wanted.finditer(self.ids), most + 1)]
        if len(hits) > most:
            return None
        begins = np.asarray(hits, dtype=np.int64) + beginning
        ranks: Numbers = np.unique(np.searchsorted(self.starts, begins, "right") - 1)
        return ranks

    def ranks_at(self, places: Iterable[Place]) -> Numbers:
        """The ranks of those places that have a row here."""
        import numpy as np

        wanted = np.asarray(sorted(number_of(place) for place in places), dtype=np.int64)
        ranks = np.searchsorted(self.places, wanted)
        inside = ranks < len(self.places)
        ranks, wanted = ranks[inside], wanted[inside]
        kept: Numbers = ranks[self.places[ranks] == wanted]
        return kept

    def rank_after(self, place: Place) -> int:
        """The first rank behind a place."""
        import numpy as np

        return int(np.searchsorted(self.places, number_of(place), "right"))

    def rank_at(self, place: Place) -> int:
        """The first rank at a place or behind it."""
        import numpy as np

        return int(np.searchsorted(self.places, number_of(place), "left"))

    def counted(self, column: str) -> list[tuple[str, int]]:
        """How often each text of a column is there, the commonest first."""
        import numpy as np

        codes = self.codes[column]
        counts = np.bincount(codes[codes >= 0], minlength=len(self.words[column]))
        pairs = zip(self.words[column], map(int, counts), strict=True)
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))


def number_of(place: Place) -> int:
    return place[0] * REPEATS + place[1]


def columns_of(rows: Iterable[Narrow]) -> BatchColumns:
    """The columns of rows in the order of their places; some thousand rows are in memory beside them."""
    import numpy as np

    numbers: dict[str, dict[str, int]] = {name: {} for name in NAMES}
    parts = []
    ids, listed = [END], iter(rows)
    while some := list(islice(listed, AT_ONCE)):
        told = dict(zip(Narrow._fields, zip(*some, strict=True), strict=True))
        ids.append(b"".join(each.encode() + END for each in told["item_id"]))
        parts.append(_part(told, numbers))
    parts = parts or [_part(dict.fromkeys(Narrow._fields, ()), numbers)]
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    joined = b"".join(ids)
    measures = {name: whole[name] for name in MEASURES}
    return BatchColumns(
        places=whole["places"],
        codes={name: whole[name] for name in NAMES},
        words={name: tuple(number) for name, number in numbers.items()},
        status=whole["status"],
        measures=measures,
        orders={name: np.argsort(measures[name], kind="stable").astype(np.uint32) for name in MEASURES},
        ids=joined,
        starts=_starts(joined, len(whole["places"])),
    )


def _part(told: Mapping[str, Sequence[Any]], numbers: dict[str, dict[str, int]]) -> dict[str, Numbers]:
    """The columns of some rows; texts get their numbers in `numbers`."""
    import numpy as np

    places = np.asarray(told["position"], dtype=np.int64) * REPEATS
    found: dict[str, Numbers] = {
        "places": places + np.asarray(told["repeat"], dtype=np.int64),
        "status": np.asarray([-1 if each is None else each for each in told["status"]], dtype=np.int32),
    }
    found |= {name: np.asarray(told[name], dtype=np.float64).astype(np.float32) for name in MEASURES}
    for name in NAMES:
        number = numbers[name]
        coded = [-1 if text is None else number.setdefault(text, len(number)) for text in told[name]]
        found[name] = np.asarray(coded, dtype=np.int32)
    return found


def _starts(ids: bytes, count: int) -> Numbers:
    import numpy as np

    ends = np.flatnonzero(np.frombuffer(ids, dtype=np.uint8) == END[0])
    starts: Numbers = ends[:count] + 1
    return starts


def save(columns: BatchColumns, path: Path, stamp: float) -> None:
    """Write them for the run's end at `stamp`, whole or not at all. Raises OSError."""
    import numpy as np

    arrays: dict[str, Numbers] = {
        "places": columns.places,
        "status": columns.status,
        "ids": np.frombuffer(columns.ids, dtype=np.uint8),
        "stamp": np.asarray([stamp, VERSION], dtype=np.float64),
        **{f"code_{name}": codes for name, codes in columns.codes.items()},
        **{f"words_{name}": _packed(words) for name, words in columns.words.items()},
        **{f"measure_{name}": values for name, values in columns.measures.items()},
        **{f"order_{name}": ranks for name, ranks in columns.orders.items()},
    }
    handle, made = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
        Path(made).replace(path)
    finally:
        Path(made).unlink(missing_ok=True)  # where it is still there


def saved(path: Path, stamp: float) -> BatchColumns | None:
    """Those that were kept for a run's end at `stamp`; None where there are none, or older ones."""
    try:
        seen = path.stat()
        return _loaded(path, stamp, seen.st_mtime_ns)
    except (OSError, ValueError, KeyError, BadZipFile):
        return None


@lru_cache(maxsize=KEPT_IN_MEMORY)
def _loaded(path: Path, stamp: float, _changed_ns: int) -> BatchColumns | None:
    import numpy as np

    with np.load(path, allow_pickle=False) as file:
        if file["stamp"].tolist() != [stamp, VERSION]:
            return None
        ids = file["ids"].tobytes()
        places = file["places"]
        return BatchColumns(
            places=places,
            codes={name: file[f"code_{name}"] for name in NAMES},
            words={name: _unpacked(file[f"words_{name}"]) for name in NAMES},
            status=file["status"],
            measures={name: file[f"measure_{name}"] for name in MEASURES},
            orders={name: file[f"order_{name}"] for name in MEASURES},
            ids=ids,
            starts=_starts(ids, len(places)),
        )


def _packed(words: Sequence[str]) -> Numbers:
    import numpy as np

    return np.frombuffer(b"".join(word.encode() + END for word in words), dtype=np.uint8)


def _unpacked(packed: Numbers) -> tuple[str, ...]:
    return tuple(word.decode() for word in packed.tobytes().split(END)[:-1])
