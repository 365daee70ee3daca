"""Files of requests: lines that are sent to a model as they stand."""
