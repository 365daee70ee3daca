"""Rows of a batch found quickly: what is wanted, what columns and words tell of it, and the files they are in."""
