"""Rules about environment variables that change speed or results."""
