"""Rules about the environment's own Python."""
