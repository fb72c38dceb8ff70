"""The data that every installation carries; ``tests/trainer/bundled`` makes it."""
