"""An optimized trainer for language models on one machine; `python -m trainer --help`.

Nothing happens at import: every module reads and sets state only when one of its functions is called.
"""
