"""What is kept: plans, runs, every attempt and its scores, in SQLite or PostgreSQL."""

from proctor.store.attempts import AttemptRow, Store
from proctor.store.keeper import Keeper

__all__ = ["AttemptRow", "Keeper", "Store"]
