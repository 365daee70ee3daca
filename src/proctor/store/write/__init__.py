"""What is written while a run is at work, and beside it."""
