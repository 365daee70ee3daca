"""Indexes over some rows of a table only."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, Connection, Index, event, text


def partial_index(name: str, where: str, *columns: Column[Any]) -> Index:
    """An index over the rows for which `where` holds, on whichever database its table is made.

    Told only then: to name a dialect in the table itself would import it, PostgreSQL's for a SQLite file too (25 ms).
    """
    index = Index(name, *columns)

    def tell(_table: object, connection: Connection, **_: object) -> None:
        index.dialect_options[connection.dialect.name]["where"] = text(where)

    event.listen(columns[0].table, "before_create", tell)
    return index
