"""Pages of one run: what it shows, its answers, one item."""
