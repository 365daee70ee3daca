"""Documents given away by a link, and the filters that people keep.

There is no way down; go back by restoring a backup.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "share",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("projects", sa.Text, nullable=False),
        sa.Column("user", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.Column("revoked_at", sa.Double),
        sa.Column("seen", sa.Integer, nullable=False),
        sa.Column("last_seen_at", sa.Double),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_share"),
        sa.UniqueConstraint("digest", name="uq_share_digest"),
    )
    op.create_index("share_user", "share", ["user", "created_at"])
    op.create_table(
        "saved_view",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("user", sa.Text, nullable=False),
        sa.Column("project_id", sa.Integer),
        sa.Column("page", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("query", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_saved_view"),
        sqlite_autoincrement=True,
    )
    op.create_index("saved_view_name", "saved_view", ["user", "page", "name"], unique=True)
