"""Rules about which attention kernels can run."""
