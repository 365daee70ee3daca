"""Parts of runs that several machines work on, and the workers themselves.

There is no way down; go back by restoring a backup.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "shard",
        sa.Column("run_num", sa.Integer, sa.ForeignKey("run.num", name="fk_shard_run_num"), nullable=False),
        sa.Column("shard", sa.Integer, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("owner", sa.Text),
        sa.Column("lease_until", sa.Double),
        sa.Column("started_at", sa.Double),
        sa.Column("finished_at", sa.Double),
        sa.PrimaryKeyConstraint("run_num", "shard", name="pk_shard"),
    )
    op.create_table(
        "worker",
        *(sa.Column(name, sa.Text, nullable=False) for name in ("name", "host", "home", "version")),
        *(sa.Column(name, sa.Double, nullable=False) for name in ("began_at", "seen_at")),
        sa.Column("said", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_worker"),
    )
