"""Scripts that measure the trainer against plainer ways of training."""
