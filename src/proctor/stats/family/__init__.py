"""The family of a comparison: the pairs that could have been compared, over which its p-values are adjusted."""
