"""How alike two replies to one request are, where neither is known to be right: comparators, one file each."""
