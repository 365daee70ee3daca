"""The REST API: the service's use cases in the outside's words, guarded."""
