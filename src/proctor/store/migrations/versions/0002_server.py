"""What the server knows: projects, the queue, schedules, keys, and who did what.

There is no way down; go back by restoring a backup.
"""

from __future__ import annotations

import time

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("run", sa.Column("project_id", sa.Integer, nullable=False, server_default="1"))
    op.create_index("run_status", "run", ["status"])
    _projects()
    _jobs()
    _schedules()
    _keys()
    _audit()


def _projects() -> None:
    project = op.create_table(
        "project",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_project"),
        sa.UniqueConstraint("name", name="uq_project_name"),
        sqlite_autoincrement=True,
    )
    # Without an id: PostgreSQL's counter must know that 1 is taken.
    op.bulk_insert(project, [{"name": "default", "created_at": time.time()}])


def _jobs() -> None:
    op.create_table(
        "job",
        sa.Column("run_num", sa.Integer, nullable=False),
        sa.Column("user", sa.Text, nullable=False),
        sa.Column("priority", sa.Integer, nullable=False),
        sa.Column("run_after", sa.Double, nullable=False),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("cancel_at", sa.Double),
        sa.Column("schedule_id", sa.Integer),
        sa.PrimaryKeyConstraint("run_num", name="pk_job"),
        sa.ForeignKeyConstraint(["run_num"], ["run.num"], name="fk_job_run_num"),
    )
    op.create_index("job_queue", "job", ["priority", "run_num"])


def _schedules() -> None:
    op.create_table(
        "schedule",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("project_id", sa.Integer, nullable=False),
        sa.Column("user", sa.Text, nullable=False),
        sa.Column("cron", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("enabled", sa.Boolean, nullable=False),
        sa.Column("next_at", sa.Double, nullable=False),
        sa.Column("last_at", sa.Double),
        sa.Column("last_run_id", sa.Text),
        sa.Column("last_error", sa.Text),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_schedule"),
        sqlite_autoincrement=True,
    )


def _keys() -> None:
    op.create_table(
        "api_key",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("user", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("prefix", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("last_used_at", sa.Double),
        sa.Column("revoked_at", sa.Double),
        sa.PrimaryKeyConstraint("id", name="pk_api_key"),
        sa.UniqueConstraint("digest", name="uq_api_key_digest"),
        sqlite_autoincrement=True,
    )


def _audit() -> None:
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("user", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
        sqlite_autoincrement=True,
    )
    op.create_index("audit_at", "audit", ["at"])
