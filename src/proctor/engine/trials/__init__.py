"""Trials: one task, one agent, one rollout, from a clean box to a verdict from another clean box."""
