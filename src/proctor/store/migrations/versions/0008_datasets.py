"""Files of questions that were uploaded: what they are called and how they are read, and their bytes, kept once.

There is no way down; go back by restoring a backup.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "dataset",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("project_id", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("format", sa.Text, nullable=False),
        sa.Column("bytes", sa.Integer, nullable=False),
        sa.Column("rows", sa.Integer, nullable=False),
        sa.Column("reading", sa.Text, nullable=False),
        sa.Column("found", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("created_by", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_dataset"),
    )
    op.create_index("dataset_name", "dataset", ["project_id", "name"], unique=True)
    op.create_index("dataset_content", "dataset", ["content"])
    op.create_table(
        "dataset_file",
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("filename", sa.Text, nullable=False),
        sa.Column("sha256", sa.Text, nullable=False),
        sa.Column("bytes", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("content", "filename", name="pk_dataset_file"),
    )
    op.create_index("dataset_file_sha256", "dataset_file", ["sha256"])
    op.create_table(
        "dataset_chunk",
        sa.Column("sha256", sa.Text, nullable=False),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("sha256", "place", name="pk_dataset_chunk"),
    )
