"""Batches: files of requests sent to a model, what came back, and how two of them differ."""
