"""Instances of SWE-bench's kind: rows of a JSONL with an issue, a commit, and the tests that tell a fix."""
