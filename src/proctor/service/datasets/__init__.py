"""One's own questions on the server: uploaded, looked at, listed, renamed, deleted, and opened for a run."""
