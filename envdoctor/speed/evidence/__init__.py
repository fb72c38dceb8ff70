"""What a difference of speed may come from, each with what it explains."""
