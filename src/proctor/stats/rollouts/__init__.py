"""What trials of agents on tasks show: by agent and task, and two agents on the very same tasks."""
