"""Rules about the torch build: does it run here, and is it what was meant."""
