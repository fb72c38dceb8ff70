"""Packages that run during a download, a prompt or a test, never in a training step.

A version of theirs that differs from the lock is worth a note, not a warning: it cannot be slower training.
Everything that is not listed here is taken as relevant. Source: the packages' own descriptions.
"""

from __future__ import annotations

PLUMBING = frozenset(
    """
    annotated-doc annotated-types
    anyio attrs certifi charset-normalizer click colorama exceptiongroup filelock h11
    hf-transfer hf-xet httpcore httpx idna importlib-metadata iniconfig markdown-it-py mdurl packaging pip
    pluggy pygments
    python-dateutil pytz requests rich setuptools shellingham six sniffio socksio tomli tqdm typer typer-slim
    typing-extensions typing-inspection tzdata urllib3 wheel zipp
    """.split()
)
