"""Trials on many machines: what they need is carried there by its hash, and their folders are had everywhere."""
