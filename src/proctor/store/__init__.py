"""What is kept: plans, runs, every attempt and its scores, in SQLite or PostgreSQL."""

from proctor.store.core.attempts import AnswerGroup, AttemptRow, Store, reply_of
from proctor.store.write.attempt_writer import AttemptWriter

__all__ = ["AnswerGroup", "AttemptRow", "AttemptWriter", "Store", "reply_of"]
