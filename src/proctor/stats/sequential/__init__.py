"""Tests that may be looked at while the items come in, and that stop when a pair is decided: walks with a boundary."""
