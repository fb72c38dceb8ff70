"""The house in figures, read from its source."""
