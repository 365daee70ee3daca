"""Alembic runs this file for every migration; schema.py hands it an open connection."""

from __future__ import annotations

from alembic import context

from proctor.store.core.tables import METADATA


def migrate() -> None:
    """Inside the caller's transaction: a migration that fails leaves the database as it was."""
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=METADATA,
        render_as_batch=True,  # SQLite alters a table by copying it
    )
    with context.begin_transaction():
        context.run_migrations()


# The name that Alembic gives this file; anybody else may import it without effect.
if __name__ == "env_py":
    migrate()
