"""The doctor as tools of an assistant, over the Model Context Protocol (`envdoctor mcp`, on the official SDK)."""
