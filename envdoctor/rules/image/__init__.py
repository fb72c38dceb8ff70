"""Rules about image files: Dockerfiles, compose files, devcontainers."""
