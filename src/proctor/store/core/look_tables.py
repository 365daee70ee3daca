"""What was tried and is no longer to be seen: figures shown of runs that were not whole, and runs that were deleted.

look     a moment at which figures of a run that was not whole were shown, with how many items had an outcome
gone     a complete run that was deleted: what tells it apart as a try of its comparison, and nothing that it showed
"""

from __future__ import annotations

from sqlalchemy import Column, Double, ForeignKey, Index, Integer, PrimaryKeyConstraint, Table, Text

from proctor.store.core.tables import METADATA, RUN

# Shown twice with nothing new between them is one look: no more can be read off the second.
LOOK = Table(
    "look",
    METADATA,
    Column("run_num", Integer, ForeignKey(RUN.c.num), nullable=False),
    Column("settled", Integer, nullable=False),  # items with an outcome, as the run's own column counts them
    Column("at", Double, nullable=False),
    PrimaryKeyConstraint("run_num", "settled"),
)

# Who deletes the runs that they do not like is told of by a count of them: see service/looks.
GONE = Table(
    "gone",
    METADATA,
    Column("id", Text, primary_key=True),  # the run's own
    Column("project_id", Integer, nullable=False),
    Column("provider", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("comparability", Text, nullable=False),
    Column("exam", Text),
    Column("planned", Integer, nullable=False),
    Column("cell", Text, nullable=False),  # as in the run
    Column("created_at", Double, nullable=False),
    Column("deleted_at", Double, nullable=False),
    Index("gone_project", "project_id", "comparability"),
)
