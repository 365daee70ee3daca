"""How fast a run goes, what it waits for, and what it may spend."""
