"""What one run shows: scores, failures, what is off with it, and its answers read again."""
