"""What is kept: plans, runs, every attempt and its scores, in SQLite or PostgreSQL."""

from proctor.store.attempts import AnswerGroup, AttemptRow, Store
from proctor.store.keeper import Keeper

__all__ = ["AnswerGroup", "AttemptRow", "Keeper", "Store"]
