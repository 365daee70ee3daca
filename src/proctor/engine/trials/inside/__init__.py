"""What is shown to boxes: programs that run there, by the Python of the box, and know nothing of proctor."""
