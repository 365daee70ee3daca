"""The table of looks: whoever shows figures of a run at work leaves a row, which its verdict tells of.


look     a moment at which figures of a run at work were shown, with how many of its items had an outcome
"""

from __future__ import annotations

from sqlalchemy import Column, Double, ForeignKey, Integer, PrimaryKeyConstraint, Table

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
