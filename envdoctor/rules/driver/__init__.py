"""Rules about the NVIDIA driver and how this machine or container reaches it."""
