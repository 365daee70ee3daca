"""Use cases of agents that others wrote: installing them where boxes can see them, and what is there."""
