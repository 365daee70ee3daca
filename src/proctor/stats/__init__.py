"""What may be said about attempts. Pure functions over rows and counts."""
