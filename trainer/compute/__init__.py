"""Devices, memory, processes and the optimizer."""
