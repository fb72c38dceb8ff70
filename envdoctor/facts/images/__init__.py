"""Dockerfiles, compose files and devcontainers, read as what they do: every word with the line that it stands on."""
