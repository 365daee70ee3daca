"""Sandboxes: roots of their own with hard limits and no network, in which agents and verifiers run."""
