"""Parquet files as records. The reader, arro3, is loaded only when there is such a file to read."""

from __future__ import annotations

import io
from typing import Any

from proctor.errors import DataError

MAGIC = b"PAR1"
TAIL_BYTES = 8  # the length of the footer, four bytes, and the magic word


def read_parquet(body: bytes, name: str) -> list[dict[str, Any]]:
    """The rows by column name. Raises: DataError when the file is cut, or no Parquet."""
    _check_ends(body, name)
    from arro3.io import read_parquet as read

    table = read(io.BytesIO(body)).read_all()
    columns = {column: table.column(column).to_pylist() for column in table.column_names}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _check_ends(body: bytes, name: str) -> None:
    """Refuse what arro3 would not survive: it panics, past all excepts, on a file that is no Parquet."""
    footer_bytes = int.from_bytes(body[-TAIL_BYTES:-4], "little")
    fits = footer_bytes + TAIL_BYTES + len(MAGIC) <= len(body)
    if not (body.startswith(MAGIC) and body.endswith(MAGIC) and fits):
        raise DataError(f"{name}: not a whole Parquet file ({len(body):,} bytes)")
