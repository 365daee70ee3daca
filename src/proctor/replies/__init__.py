"""Replies as files keep them: lines that tools write and the bodies that servers gave, read once for everyone."""
