"""Models asked side by side until a verdict is sure."""
