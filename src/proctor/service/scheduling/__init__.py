"""When runs come again, in words, and which runs may."""
