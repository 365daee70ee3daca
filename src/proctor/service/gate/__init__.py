"""The gate of a pipeline: a run beside the one that was accepted last, passed or not, in words for a pull request."""
