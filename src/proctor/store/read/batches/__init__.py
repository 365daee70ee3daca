"""Runs of requests as they are read: rows, columns, words, files."""
