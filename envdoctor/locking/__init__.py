"""Writing, checking and filling the lockfiles that stacks are: from a resolver's answer to exact wheels by name, size and sha256."""
