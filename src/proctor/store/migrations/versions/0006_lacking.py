"""An index of the ended runs that lack their figures, which are nearly none: who looks for them finds them at once.

There is no way down; go back by restoring a backup.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    lacking = sa.text("summary IS NULL AND finished_at IS NOT NULL")
    op.create_index("run_lacking", "run", ["num"], sqlite_where=lacking, postgresql_where=lacking)
