"""How many requests may be under way at one model."""
