"""Batches: what is known of models, OpenAI's batches and files, labels, and what attempts tell of streams and refusals.

There is no way down; go back by restoring a backup.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from proctor.store.core.batch_tables import BATCH, BATCH_FILE, LABEL, MODEL_REGISTRY
from proctor.store.core.documented_views import create_views

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name, kind in (
        ("first_token_s", sa.Double),
        ("inter_token_s", sa.Double),
        ("status", sa.Integer),
        ("finish", sa.Text),
    ):
        op.add_column("attempt", sa.Column(name, kind))
    op.add_column("dataset", sa.Column("holds", sa.Text, nullable=False, server_default="questions"))
    for table in (MODEL_REGISTRY, BATCH_FILE, BATCH, LABEL):
        table.create(op.get_bind())
    create_views(op.get_bind())
