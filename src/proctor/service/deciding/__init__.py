"""What is decided of runs that are asked side by side: at each look while they are, and of kept rows."""

from proctor.service.deciding.decider import GIVEN_UP, Decider, decision_of
from proctor.service.deciding.side_by_side import both_ways, decided, plan_of, side_by_side

__all__ = ["GIVEN_UP", "Decider", "both_ways", "decided", "decision_of", "plan_of", "side_by_side"]
