"""The form by which work is started."""
