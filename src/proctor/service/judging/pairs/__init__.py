"""Pairs of two runs' replies: which are asked, what both orders come to, and the grades of both runs."""
