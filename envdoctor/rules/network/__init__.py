"""Rules about how GPUs, ranks and nodes are joined."""
