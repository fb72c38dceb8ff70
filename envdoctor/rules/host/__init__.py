"""Rules about the machine or container around the environment."""
