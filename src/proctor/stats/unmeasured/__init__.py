"""Replies that never came, and what a verdict that leaves them out is worth."""
