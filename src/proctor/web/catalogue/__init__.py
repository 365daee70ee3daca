"""Pages of what can be asked: models, suites, data sets."""
