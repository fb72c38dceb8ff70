"""The data that every installation carries, and the scripts that made it."""
