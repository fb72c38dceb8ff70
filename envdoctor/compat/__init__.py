"""What runs on what: CUDA lines, drivers, GPUs and torch builds as sourced tables, and the functions that read them.

Nothing here reads the machine. `solver.fits` and `solver.best_build` are the questions; the other modules are one
table each.
"""
