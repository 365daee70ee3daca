"""The first tables: plan, run, item, attempt, payload, score.

Written out, not taken from tables.py: a migration stays what it was when the tables move on.
There is no way down; go back by restoring a backup.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    _plans()
    _runs()
    _items()
    _attempts()
    _scores()


def _plans() -> None:
    op.create_table(
        "plan",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_plan"),
    )


def _runs() -> None:
    op.create_table(
        "run",
        sa.Column("num", sa.Integer, nullable=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("plan_id", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("cell", sa.Text, nullable=False),
        sa.Column("provider", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("source_title", sa.Text, nullable=False),
        sa.Column("sample", sa.Boolean, nullable=False),
        sa.Column("comparability", sa.Text),
        sa.Column("planned", sa.Integer, nullable=False),
        sa.Column("settled", sa.Integer, nullable=False),
        sa.Column("manifest", sa.Text, nullable=False),
        sa.Column("owner", sa.Text),
        sa.Column("lease_until", sa.Double),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("started_at", sa.Double),
        sa.Column("finished_at", sa.Double),
        sa.Column("elapsed_s", sa.Double, nullable=False),
        sa.Column("stopped", sa.Text),
        sa.Column("error", sa.Text),
        sa.Column("error_slug", sa.Text),
        sa.Column("parent_id", sa.Text),
        sa.PrimaryKeyConstraint("num", name="pk_run"),
        sa.ForeignKeyConstraint(["plan_id"], ["plan.id"], name="fk_run_plan_id"),
        sa.UniqueConstraint("id", name="uq_run_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("run_plan", "run", ["plan_id"])
    op.create_index("run_created", "run", ["created_at"])
    op.create_index("run_source", "run", ["source", "model"])


def _items() -> None:
    op.create_table(
        "item",
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_item"),
    )


def _attempts() -> None:
    op.create_table(
        "attempt",
        sa.Column("run_num", sa.Integer, nullable=False),
        sa.Column("item_id", sa.Text, nullable=False),
        sa.Column("repeat", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("task", sa.Text, nullable=False),
        sa.Column("item_hash", sa.Text, nullable=False),
        sa.Column("target", sa.Text),
        sa.Column("cluster", sa.Text),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("score", sa.Double),
        sa.Column("answer", sa.Text),
        sa.Column("rung", sa.Integer),
        sa.Column("latency_s", sa.Double),
        sa.Column("input_tokens", sa.Integer),
        sa.Column("output_tokens", sa.Integer),
        sa.Column("reasoning_tokens", sa.Integer),
        sa.Column("cost_usd", sa.Double),
        sa.Column("retries", sa.Integer, nullable=False),
        sa.Column("error_slug", sa.Text),
        sa.Column("at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("run_num", "item_id", "repeat", "attempt", name="pk_attempt"),
        sa.ForeignKeyConstraint(["run_num"], ["run.num"], name="fk_attempt_run_num"),
        sqlite_with_rowid=False,
    )
    op.create_index("attempt_place", "attempt", ["run_num", "position", "repeat"])
    op.create_index("attempt_task", "attempt", ["run_num", "task", "position", "repeat"])
    op.create_index("attempt_outcome", "attempt", ["run_num", "outcome", "position", "repeat"])
    op.create_table(
        "payload",
        sa.Column("run_num", sa.Integer, nullable=False),
        sa.Column("item_id", sa.Text, nullable=False),
        sa.Column("repeat", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("run_num", "item_id", "repeat", "attempt", name="pk_payload"),
    )


def _scores() -> None:
    op.create_table(
        "score",
        sa.Column("run_num", sa.Integer, nullable=False),
        sa.Column("task", sa.Text, nullable=False),
        sa.Column("metric", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("value", sa.Double),
        sa.Column("stderr", sa.Double),
        sa.Column("low", sa.Double),
        sa.Column("high", sa.Double),
        sa.Column("scored", sa.Integer, nullable=False),
        sa.Column("asked", sa.Integer, nullable=False),
        sa.Column("method", sa.Text, nullable=False),
        sa.Column("reason", sa.Text),
        sa.PrimaryKeyConstraint("run_num", "task", "metric", name="pk_score"),
        sa.ForeignKeyConstraint(["run_num"], ["run.num"], name="fk_score_run_num"),
    )
