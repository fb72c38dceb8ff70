"""What people type, and what a run tells them."""
