"""What a run needs besides the store: its source, its models, its simulator."""
