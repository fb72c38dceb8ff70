"""Timing the user's own training script without changing it: ``envdoctor run --measure -- python train.py``.

`launch` makes the variables that load the code of ``inject/`` into every Python the command starts; that code writes
one record per training process; `record` reads them and `advice` says what holds the run back.
"""
