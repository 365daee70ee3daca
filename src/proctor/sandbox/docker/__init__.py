"""Docker: boxes are containers of any daemon that speaks its API at DOCKER_HOST: dockerd, or podman's service."""
