"""Official files of the suites, recognised and read."""
