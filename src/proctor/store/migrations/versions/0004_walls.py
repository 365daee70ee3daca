"""Walls between projects: which projects a key names, and which project a deed was done in.

A key of before reached everything: it keeps every project that there is, and reaches none that is made later.
There is no way down; go back by restoring a backup.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "key_project",
        sa.Column("key_id", sa.Integer, nullable=False),
        sa.Column("project_id", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("key_id", "project_id", name="pk_key_project"),
        sa.ForeignKeyConstraint(["key_id"], ["api_key.id"], name="fk_key_project_key_id"),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name="fk_key_project_project_id"),
    )
    # A key with the scope admin needs no project: it reaches all of them.
    op.execute(
        "INSERT INTO key_project (key_id, project_id) SELECT api_key.id, project.id FROM api_key, project "
        "WHERE api_key.scopes NOT LIKE '%admin%'"
    )
    op.add_column("audit", sa.Column("project_id", sa.Integer))
    op.execute("UPDATE audit SET project_id = (SELECT project_id FROM run WHERE run.id = audit.target)")
    op.execute(
        "UPDATE audit SET project_id = (SELECT project_id FROM schedule "
        "WHERE CAST(schedule.id AS VARCHAR(20)) = audit.target) WHERE action LIKE '%-schedule'"
    )
    op.create_index("audit_project", "audit", ["project_id", "id"])
    op.create_index("run_project", "run", ["project_id", "created_at", "status"])
