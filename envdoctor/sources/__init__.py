"""Where packages may come from: pip's and uv's own configuration."""
