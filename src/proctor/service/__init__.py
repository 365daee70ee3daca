"""The use cases: what the command line, the API, the pages and Python ask for. The views' only door."""
