"""What the operating system gives: other programs, signals, temporary folders."""
