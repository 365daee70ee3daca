"""Batches: what is known of models, OpenAI's batches and files, labels, and what attempts tell of streams and refusals.

There is no way down; go back by restoring a backup.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from proctor.store.core.documented_views import create_views

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("first_token_s", "inter_token_s"):
        op.add_column("attempt", sa.Column(name, sa.Double))
    op.add_column("attempt", sa.Column("status", sa.Integer))
    op.add_column("attempt", sa.Column("finish", sa.Text))
    op.add_column("dataset", sa.Column("holds", sa.Text, nullable=False, server_default="questions"))
    _models()
    _files()
    _batches()
    _labels()
    create_views(op.get_bind())


def _models() -> None:
    op.create_table(
        "model_registry",
        sa.Column("model_id", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("parameters", sa.Text),
        *(sa.Column(name, sa.Double) for name in ("size_bytes", "memory_bytes")),
        sa.Column("context_tokens", sa.Integer),
        sa.Column("quantization", sa.Text),
        *(sa.Column(name, sa.Double) for name in ("tokens_per_s", "measured_at")),
        sa.Column("note", sa.Text),
        sa.Column("edited", sa.Boolean, nullable=False),
        sa.Column("updated_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("model_id", name="pk_model_registry"),
    )


def _files() -> None:
    op.create_table(
        "batch_file",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("project_id", sa.Integer, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("filename", "purpose")),
        sa.Column("bytes", sa.Double, nullable=False),
        *(sa.Column(name, sa.Text) for name in ("sha256", "batch_id", "part")),
        sa.Column("user", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double),
        sa.PrimaryKeyConstraint("id", name="pk_batch_file"),
    )
    op.create_index("batch_file_project", "batch_file", ["project_id", "created_at", "id"])


def _batches() -> None:
    moments = ("in_progress_at", "finalizing_at", "completed_at", "failed_at", "expired_at")
    op.create_table(
        "batch",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("project_id", sa.Integer, nullable=False),
        sa.Column("run_num", sa.Integer, sa.ForeignKey("run.num", name="fk_batch_run_num")),
        sa.Column("model", sa.Text),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("endpoint", "input_file_id")),
        *(sa.Column(name, sa.Text) for name in ("output_file_id", "error_file_id")),
        sa.Column("completion_window", sa.Text, nullable=False),
        sa.Column("total", sa.Integer, nullable=False),
        *(sa.Column(name, sa.Integer) for name in ("completed", "failed")),
        *(sa.Column(name, sa.Text) for name in ("usage", "errors", "metadata")),
        sa.Column("output_expires_s", sa.Integer),
        sa.Column("user", sa.Text, nullable=False),
        *(sa.Column(name, sa.Double, nullable=False) for name in ("created_at", "expires_at")),
        *(sa.Column(name, sa.Double) for name in (*moments, "cancelling_at", "cancelled_at")),
        sa.PrimaryKeyConstraint("id", name="pk_batch"),
    )
    op.create_index("batch_project", "batch", ["project_id", "created_at", "id"])
    op.create_index("batch_run", "batch", ["run_num"])


def _labels() -> None:
    item_id = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.create_table(
        "label",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("run_num", sa.Integer, sa.ForeignKey("run.num", name="fk_label_run_num"), nullable=False),
        sa.Column("item_id", item_id, nullable=False),
        sa.Column("repeat", sa.Integer, nullable=False),
        *(sa.Column(name, sa.Text) for name in ("verdict", "text", "note")),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("tags", "user")),
        sa.Column("at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_label"),
        sqlite_autoincrement=True,
    )
    op.create_index("label_item", "label", ["run_num", "item_id", "repeat", "id"])
