"""An checkup or a verdict, rendered: every format from the same value."""
