"""Indexes over some rows of a table only."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, Connection, Index, event, text


def partial_index(name: str, column: Column[Any], where: str) -> Index:
    """An index over the rows for which `where` holds, on whichever database its table is made.

    Told only then: to name a dialect in the table itself would import it, PostgreSQL's for a SQLite file too (25 ms).
    """
    index = Index(name, column)

    def tell(_table: object, connection: Connection, **_: object) -> None:
        index.dialect_options[connection.dialect.name]["where"] = text(where)

    event.listen(column.table, "before_create", tell)
    return index
