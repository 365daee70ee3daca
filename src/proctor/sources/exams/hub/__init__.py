"""Rows of the suites, downloaded from the hub of data sets."""
