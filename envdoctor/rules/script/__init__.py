"""Rules about the user's own training script and launch files, read as text and never run."""
