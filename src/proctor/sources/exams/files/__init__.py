"""A user's own questions: files of rows, and suites in TOML."""
