"""What a run reports of itself: time, losses, rates."""
