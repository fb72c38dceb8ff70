"""A model that is to be trained: what its own files say of it, its memory, and where it is cheapest."""
