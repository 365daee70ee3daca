"""What the dashboard keeps: summaries of runs, their pulse, notes on answers, sessions of browsers.

There is no way down; go back by restoring a backup.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

ITEM_ID = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.add_column("run", sa.Column("summary", sa.Text))
    _ids_by_their_bytes()
    _pulse()
    _note()
    op.create_table(
        "session",
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("key_id", sa.Integer, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_session"),
        sa.ForeignKeyConstraint(["key_id"], ["api_key.id"], name="fk_session_key_id"),
    )


def _ids_by_their_bytes() -> None:
    """SQLite sorts so already; PostgreSQL sorts as people do, unless it is told."""
    if op.get_bind().dialect.name == "postgresql":
        for table in ("attempt", "payload"):
            op.alter_column(table, "item_id", type_=ITEM_ID, existing_nullable=False)


def _pulse() -> None:
    op.create_table(
        "pulse",
        sa.Column("run_num", sa.Integer, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("done", sa.Integer, nullable=False),
        sa.Column("in_flight", sa.Integer, nullable=False),
        sa.Column("items_per_s", sa.Double, nullable=False),
        sa.Column("tokens_per_s", sa.Double, nullable=False),
        sa.Column("retries", sa.Integer, nullable=False),
        sa.Column("errors", sa.Integer, nullable=False),
        sa.Column("cost_usd", sa.Double),
        sa.Column("low_s", sa.Double),
        sa.Column("high_s", sa.Double),
        sa.PrimaryKeyConstraint("run_num", "at", name="pk_pulse"),
        sa.ForeignKeyConstraint(["run_num"], ["run.num"], name="fk_pulse_run_num"),
    )


def _note() -> None:
    op.create_table(
        "note",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("run_num", sa.Integer, nullable=False),
        sa.Column("item_id", ITEM_ID, nullable=False),
        sa.Column("repeat", sa.Integer, nullable=False),
        sa.Column("user", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("flag", sa.Boolean, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_note"),
        sa.ForeignKeyConstraint(["run_num"], ["run.num"], name="fk_note_run_num"),
        sqlite_autoincrement=True,
    )
    op.create_index("note_item", "note", ["run_num", "item_id", "repeat"])
