"""Rules about the GPUs themselves: their health, their limits and their company."""
