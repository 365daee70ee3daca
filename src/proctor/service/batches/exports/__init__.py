"""Batches written out: replies as lines and tables, requests to send again, examples to train on."""
