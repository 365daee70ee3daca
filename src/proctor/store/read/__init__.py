"""What pages and lists read, bounded and paged."""
