"""A model that is to be trained: what its own files say of it, the memory it takes, and where training it is cheapest."""
