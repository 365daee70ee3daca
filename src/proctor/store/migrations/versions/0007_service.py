"""What a request took of the server itself, how many were under way beside it, and what replies of no use cost.

There is no way down; go back by restoring a backup.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_COLUMNS = {
    "service_s": sa.Double,
    "in_flight": sa.Double,
    "unused_input_tokens": sa.Integer,
    "unused_output_tokens": sa.Integer,
    "unused_cost_usd": sa.Double,
}


def upgrade() -> None:
    for name, kind in _COLUMNS.items():
        op.add_column("attempt", sa.Column(name, kind()))
