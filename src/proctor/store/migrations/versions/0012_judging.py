"""Labels by the criteria of a rubric, so that people grade what judges grade.

There is no way down; go back by restoring a backup.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("criterion", "rubric", "against", "drawn"):
        op.add_column("label", sa.Column(name, sa.Text))
    op.add_column("label", sa.Column("attempt", sa.Integer))
