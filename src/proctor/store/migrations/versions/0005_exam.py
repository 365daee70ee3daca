"""Runs may be compared however many items they were asked; which were asked the very same is kept beside.

There is no way down; go back by restoring a backup.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson
import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

AT_ONCE = 500  # manifests in memory


def upgrade() -> None:
    op.add_column("run", sa.Column("exam", sa.Text))
    headline = sa.text("place = 0")
    op.create_index("score_headline", "score", ["run_num"], sqlite_where=headline, postgresql_where=headline)
    run = sa.table("run", *(sa.column(name) for name in ("num", "manifest", "comparability", "exam")))
    connection = op.get_bind()
    known = run.c.comparability.is_not(None)
    for nums in _pages(list(connection.execute(sa.select(run.c.num).where(known)).scalars())):
        rows = connection.execute(sa.select(run.c.num, run.c.manifest).where(run.c.num.in_(nums))).all()
        changed = sa.update(run).where(run.c.num == sa.bindparam("key"))
        connection.execute(
            changed.values(comparability=sa.bindparam("alike"), exam=sa.bindparam("same")),
            [{"key": row.num, **_keys(orjson.loads(row.manifest))} for row in rows],
        )


def _pages(nums: list[int]) -> list[list[int]]:
    return [nums[start : start + AT_ONCE] for start in range(0, len(nums), AT_ONCE)]


def _keys(manifest: Mapping[str, Any]) -> dict[str, str]:
    """As service/results/comparable.py had them when this was written; a migration must not change with it."""
    facts = [
        manifest.get("rows") if manifest.get("rows") in ("sample", "file") else "official",
        manifest.get("suite"),
        sorted(manifest.get("tasks") or ()),
        manifest.get("prompts"),
        [manifest.get(key) for key in ("style", "wording", "shots", "shuffle")],
        manifest.get("mode", "generate"),
        manifest.get("extractor"),
        manifest.get("metric_versions"),
    ]
    alike = _digest(facts)
    return {"alike": alike, "same": _digest([alike, manifest.get("item_set_sha256")])}


def _digest(facts: Any) -> str:
    return hashlib.sha256(orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]
