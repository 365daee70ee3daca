"""Suites and user question files: where items come from, what is asked, how a reply is read."""
