"""Looks at runs that were at work: how often figures were shown before they were all there.

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
