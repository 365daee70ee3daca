"""Keys, projects, sessions, and what is deleted."""
