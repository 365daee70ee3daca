"""Which of a batch's rows hold some words, in the request or the reply: an index in a file of its own.

It lies beside the columns, and is SQLite's FTS5 without the texts: of each word the ranks of the rows that have it.
What a word is, SQLite's `unicode61` says, but that each sign of Chinese, Japanese and Korean stands for itself.
"""

from __future__ import annotations

import os
import re
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from proctor.store.read.batches.rows import WholeRow
from proctor.types import Request

if TYPE_CHECKING:
    import numpy as np

    Ranks = np.ndarray[Any, np.dtype[Any]]

ROWS_AT_ONCE = 2_000
VERSION = 1
_TABLE = "CREATE VIRTUAL TABLE said USING fts5(words, content='', columnsize=0, detail=none)"
_ALONE = re.compile("([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff])")
_WORD = re.compile(r'"([^"]*)"|(\S+)')


class WordsAsked(NamedTuple):
    """What somebody looks for: an expression for the index, and parts that must stand in a text just so."""

    expression: str
    parts: tuple[str, ...]


def asked(text: str) -> WordsAsked | None:
    """Every word must be there; a word with a star is the beginning of one; words in quotes stand together.

    None for a text without a word.
    """
    terms: list[str] = []
    parts: list[str] = []
    for quoted, plain in _WORD.findall(text):
        words = _words(quoted or plain.rstrip("*"))
        if not words:
            continue
        terms += [f'"{word}"' for word in words[:-1]]
        terms.append(f'"{words[-1]}"' + ("*" if plain.endswith("*") else ""))
        if quoted or len(words) > 1:
            parts.append(" ".join((quoted or plain.rstrip("*")).casefold().split()))
    return WordsAsked(" AND ".join(terms), tuple(parts)) if terms else None


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[\W_]+", apart(text)) if word]


def holds(text: str, parts: Iterable[str]) -> bool:
    said = " ".join(text.casefold().split())
    return all(part in said for part in parts)


def apart(text: str) -> str:
    """With each sign that is a word by itself standing alone."""
    return text if text.isascii() else _ALONE.sub(r" \1 ", text)


def said_in(row: WholeRow) -> str:
    """All that was asked and answered in a row, as it is searched."""
    asked_ = row.item.ask if row.item is not None else None
    shown = [message.content for message in asked_.messages] if asked_ is not None else []
    if isinstance(asked_, Request) and not any(shown):
        shown = [asked_.body.decode("utf-8", "replace")]
    answer = row.said.get("text") or row.said.get("error") or ""
    return "\n".join([*shown, row.said.get("reasoning") or "", answer])


def build(rows: Iterable[WholeRow], path: Path, stamp: float) -> None:
    """Write the index of rows in the order of their ranks, whole or not at all. Raises OSError, sqlite3.Error."""
    handle, made = tempfile.mkstemp(dir=path.parent)
    os.close(handle)
    try:
        with closing(sqlite3.connect(made, isolation_level=None)) as index:
            index.execute("PRAGMA journal_mode=OFF")
            index.execute("PRAGMA synchronous=OFF")
            index.execute("PRAGMA cache_size=-64000")
            _fill(index, rows)
            index.execute("CREATE TABLE stamp (at REAL, version INTEGER)")
            index.execute("INSERT INTO stamp VALUES (?, ?)", (stamp, VERSION))
        Path(made).replace(path)
    finally:
        Path(made).unlink(missing_ok=True)  # where it is still there


def _fill(index: sqlite3.Connection, rows: Iterable[WholeRow]) -> None:
    index.execute(_TABLE)
    index.execute("BEGIN")
    numbered = ((rank, apart(said_in(row)).replace("\0", " ")) for rank, row in enumerate(rows))
    index.executemany("INSERT INTO said (rowid, words) VALUES (?, ?)", numbered)
    index.execute("COMMIT")


def is_built(path: Path, stamp: float) -> bool:
    try:
        with closing(_opened(path)) as index:
            found: tuple[float, int] | None = index.execute("SELECT at, version FROM stamp").fetchone()
            return found == (stamp, VERSION)
    except sqlite3.Error:
        return False


def _opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


def found(
    path: Path, wanted: WordsAsked, after: int | None = None, *, descending: bool = False
) -> Iterator[Ranks]:
    """The ranks of rows that have the words, many at a time, behind a rank or before it. Raises sqlite3.Error."""
    import numpy as np

    if after is None:
        after = 2**62 if descending else -1
    side, order = ("<", "DESC") if descending else (">", "ASC")
    query = f"SELECT rowid FROM said WHERE said MATCH ? AND rowid {side} ? ORDER BY rowid {order}"  # noqa: S608 - two fixed words
    with closing(_opened(path)) as index:
        rows = index.execute(query, (wanted.expression, after))
        while page := rows.fetchmany(ROWS_AT_ONCE):
            yield np.fromiter((row[0] for row in page), dtype=np.int64, count=len(page))


def among(texts: Iterable[str], wanted: WordsAsked) -> list[int]:
    """The numbers, from 0, of those texts that have the words: where there is no index yet."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as index:
        index.execute(_TABLE)
        told = ((number, apart(text).replace("\0", " ")) for number, text in enumerate(texts))
        index.executemany("INSERT INTO said (rowid, words) VALUES (?, ?)", told)
        query = "SELECT rowid FROM said WHERE said MATCH ? ORDER BY rowid"
        return [row[0] for row in index.execute(query, (wanted.expression,))]
