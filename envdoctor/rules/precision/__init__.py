"""Rules about number formats of matrix products and convolutions."""
