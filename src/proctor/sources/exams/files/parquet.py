"""Parquet files as records. The reader, arro3, is loaded only when there is such a file to read."""

from __future__ import annotations

import io
from types import TracebackType
from typing import Any

from proctor.errors import DataError

MAGIC = b"PAR1"
PANIC = "PanicException"  # of the language that arro3 is written in; it can be imported from nowhere
TAIL_BYTES = 8  # the length of the footer, four bytes, and the magic word


def read_parquet(body: bytes, name: str) -> list[dict[str, Any]]:
    """The rows by column name. Raises: DataError when the file is cut, or no Parquet."""
    _check_ends(body, name)
    from arro3.io import read_parquet as read

    with _Refused(name):
        table = read(io.BytesIO(body)).read_all()
        columns = {column: table.column(column).to_pylist() for column in table.column_names}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


class _Refused:
    """What arro3 raises for a damaged file becomes a DataError: plain Exceptions, and panics that are none."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if kind is not None and (kind.__name__ == PANIC or issubclass(kind, Exception)):
            raise DataError(
                f"{self._name}: a damaged Parquet file ({str(error)[:200]}). Write it again"
            ) from None


def _check_ends(body: bytes, name: str) -> None:
    """Refuse what is no Parquet at all in words of our own."""
    footer_bytes = int.from_bytes(body[-TAIL_BYTES:-4], "little")
    fits = footer_bytes + TAIL_BYTES + len(MAGIC) <= len(body)
    if not (body.startswith(MAGIC) and body.endswith(MAGIC) and fits):
        raise DataError(f"{name}: not a whole Parquet file ({len(body):,} bytes)")
