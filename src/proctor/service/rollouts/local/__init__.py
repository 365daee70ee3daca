"""Benchmarks of this machine, as its command line has them: found by a word, followed, summarized, verified again."""
