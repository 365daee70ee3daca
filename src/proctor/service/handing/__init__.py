"""Runs of the command line become jobs of the server."""
