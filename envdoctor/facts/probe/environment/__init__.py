"""What the environment's own Python can tell without importing any package of it."""
