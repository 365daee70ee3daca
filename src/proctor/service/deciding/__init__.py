"""What is decided of runs that are asked side by side: at each look while they are, and of kept rows."""

from proctor.service.deciding.decider import GIVEN_UP, Decider, decision_of

__all__ = ["GIVEN_UP", "Decider", "decision_of"]
