"""The model: built, attended, adapted, and its losses."""
