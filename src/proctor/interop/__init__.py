"""Runs of other tools: their logs read into one neutral form, and ours written as theirs."""
