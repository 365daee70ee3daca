"""Looks at runs that were at work, and what is told of complete runs that were deleted.

There is no way down; go back by restoring a backup.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "look",
        sa.Column("run_num", sa.Integer, sa.ForeignKey("run.num", name="fk_look_run_num"), nullable=False),
        sa.Column("settled", sa.Integer, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("run_num", "settled", name="pk_look"),
    )
    op.create_table(
        "gone",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("project_id", sa.Integer, nullable=False),
        sa.Column("provider", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("comparability", sa.Text, nullable=False),
        sa.Column("exam", sa.Text),
        sa.Column("planned", sa.Integer, nullable=False),
        sa.Column("cell", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("deleted_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_gone"),
    )
    op.create_index("gone_project", "gone", ["project_id", "comparability"])
