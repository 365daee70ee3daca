"""What a reply says, and what that is worth: answer formats, readers and comparisons."""
