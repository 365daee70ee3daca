"""One file per wire protocol, and what servers of the same protocol do otherwise."""
