"""What a setting is worth: runs with it and without it, in turns."""
