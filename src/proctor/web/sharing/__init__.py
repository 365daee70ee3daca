"""Results given away: the links, who may read them, and their list."""
