"""What further graders make of kept replies, beside the first grade of each attempt.

There is no way down; go back by restoring a backup.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    item_id = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    op.create_table(
        "grade",
        sa.Column("run_num", sa.Integer, sa.ForeignKey("run.num", name="fk_grade_run_num"), nullable=False),
        sa.Column("grader", sa.Text, nullable=False),
        sa.Column("item_id", item_id, nullable=False),
        sa.Column("repeat", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("score", sa.Double),
        sa.Column("answer", sa.Text),
        sa.Column("note", sa.Text),
        sa.Column("cost_usd", sa.Double),
        sa.Column("at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("run_num", "grader", "item_id", "repeat", "attempt", name="pk_grade"),
        sqlite_with_rowid=False,
    )
