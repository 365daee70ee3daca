"""Graders of open answers, one file each; `table.py` has a row for each."""
