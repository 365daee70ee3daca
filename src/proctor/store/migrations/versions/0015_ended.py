"""An index of the ended runs: whether one has ended since a board or a list was made is read off it alone.

There is no way down; go back by restoring a backup.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    ended = sa.text("finished_at IS NOT NULL")
    columns = ["source", "model", "project_id", "finished_at", "settled"]
    op.create_index("run_ended", "run", columns, sqlite_where=ended, postgresql_where=ended)
