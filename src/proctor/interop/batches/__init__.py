"""Lines of batch outputs: those that proctor writes, and those that other tools have written."""
