"""What one training step asks of a device, counted operator by operator, without the device."""
