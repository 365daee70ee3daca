"""Modal: boxes are sandboxes of that cloud, made and driven by its own client, with their network blocked."""
