"""The tables of work on many machines: parts of runs, and who works.

shard    a part of a run that somebody is at work on, while others are at its other parts
worker   who takes runs: where, since when, what it can do, and what it lacks
"""

from __future__ import annotations

from sqlalchemy import Column, Double, ForeignKey, Integer, PrimaryKeyConstraint, Table, Text

from proctor.store.core.tables import METADATA, RUN

SHARD = Table(
    "shard",
    METADATA,
    Column("run_num", Integer, ForeignKey(RUN.c.num), nullable=False),
    Column("shard", Integer, nullable=False),  # 0 to the run's number of shards, less one
    Column("status", Text, nullable=False),  # pending, running, completed
    Column("owner", Text),  # who works on it; null unless running
    Column("lease_until", Double),  # after this moment the owner counts as dead
    Column("started_at", Double),
    Column("finished_at", Double),
    PrimaryKeyConstraint("run_num", "shard"),
)

WORKER = Table(
    "worker",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("host", Text, nullable=False),
    Column("home", Text, nullable=False),  # its PROCTOR_HOME
    Column("version", Text, nullable=False),
    Column("began_at", Double, nullable=False),
    Column("seen_at", Double, nullable=False),
    Column(
        "said", Text, nullable=False
    ),  # JSON: why it takes no run, what its runs use, which runs it refused
)
