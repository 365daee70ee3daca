"""Pages of the server: queue, schedules, projects, keys, audit."""
