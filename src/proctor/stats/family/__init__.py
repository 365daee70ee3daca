"""The family of a comparison: the pairs that nobody asked to see but could have."""
