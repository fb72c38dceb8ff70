"""Rules about what is installed, and whether it fits together."""
