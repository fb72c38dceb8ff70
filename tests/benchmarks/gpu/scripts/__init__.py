"""Training scripts as people write them: what `run --measure` is measured on. They import nothing of this project."""
