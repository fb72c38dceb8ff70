"""One reader for each form in which people paste what their environment is."""
