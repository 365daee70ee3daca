"""Pages over many runs: the first page and the history."""
