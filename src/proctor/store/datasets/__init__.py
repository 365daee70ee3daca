"""Uploaded files of questions: what they are called and how they are read, and their bytes, kept once by hash."""
