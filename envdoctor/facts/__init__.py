"""What was found: the values of one examined environment, and how they are collected, read and scrubbed."""
