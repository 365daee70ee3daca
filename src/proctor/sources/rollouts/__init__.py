"""Prepared tasks as a source: folders with files, an instruction, and what verifies the work."""
