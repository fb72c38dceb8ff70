"""Writing, judging and filling lockfiles: from a resolver's answer to exact wheels by name, size and sha256."""
