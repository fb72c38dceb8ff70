"""Changing an environment: atomically, or not at all.

`apply.apply` changes one, `apply.create` makes one, `strategy.preview` says how it would be done, `undo.undo` goes
back, `recover.recover` clears up after a killed run.
Everything that can fail happens in a clone beside the environment; the environment itself is only ever exchanged.
"""
