"""In a notebook the environment that is meant is the kernel's own, and a kernel that runs must be told of a change.

Nothing is imported into the kernel's process here: what it has loaded is only looked at.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from envdoctor.api.answers import Change, Report, value
from envdoctor.values.frozen import frozen

# Loaded by a training notebook, and changed by `fix`. Their modules hold their version.
LOADED = ("torch", "torchvision", "triton", "numpy", "transformers", "tokenizers", "accelerate", "datasets", "peft",
          "trl", "safetensors")  # fmt: skip


@frozen
class NotebookReport(Report):
    """A report for the kernel that asked; ``notices`` say what holds for the kernel itself."""

    notices: tuple[str, ...] = ()
    __repr__ = Report.__repr__


@frozen
class NotebookChange(Change):
    """A change, as seen by the kernel that asked for it."""

    notices: tuple[str, ...] = ()
    __repr__ = Change.__repr__


def report(document: Mapping[str, Any], env: str | os.PathLike[str] | None) -> Report:
    """The value of a check document; in the kernel of a notebook one that knows of it. ``env``: what was asked for."""
    if kernel() is None:
        return value(Report, document)
    told = [*stale()] if _same(env) and document["environment"]["origin"] == "probe" else []
    return value(NotebookReport, {**document, "notices": told})


def change(document: Mapping[str, Any], env: str | os.PathLike[str] | None) -> Change:
    """The value of a change document, with what a kernel that runs from the environment has to do."""
    if kernel() is None:
        return value(Change, document)
    told: list[str] = []
    if _same(env) and document["changed"]:
        told.append(
            "This kernel runs from the environment that was changed: what it has loaded is still the old state. "
            "Restart the kernel before you go on."
        )
    elif _same(env) and document["strategy"] is not None:
        told.append(
            "This kernel runs from the environment: save your work before the change, and restart the kernel after it."
        )
    return value(NotebookChange, {**document, "notices": told})


def kernel() -> Path | None:
    """The python of the kernel that we run in; None outside of a notebook."""
    shell = sys.modules.get("IPython")
    found = getattr(shell, "get_ipython", lambda: None)()
    return Path(sys.executable) if getattr(found, "kernel", None) is not None and sys.executable else None


def stale() -> Iterator[str]:
    """What the kernel has loaded in another version than is installed now, as after a change or a `%pip install`."""
    from importlib import metadata  # 20 ms: not for those who have no kernel

    others = []
    for name in LOADED:
        loaded = getattr(sys.modules.get(name), "__version__", None)
        try:
            installed = metadata.version(name)
        except metadata.PackageNotFoundError:
            installed = None
        if loaded is not None and str(loaded).partition("+")[0] != str(installed).partition("+")[0]:
            others.append(f"{name} {loaded} (installed: {installed or 'none'})")
    if others:
        yield f"This kernel has loaded {', '.join(others)}. What was judged is installed: restart the kernel to use it."


def _same(env: str | os.PathLike[str] | None) -> bool:
    """Is it the environment that the kernel runs from? By its folder: pythons of environments link to a shared one."""
    if env is None:
        return True
    asked = Path(os.path.abspath(os.path.expanduser(env)))
    places = (asked, asked.parent.parent) if asked.name.startswith("python") else (asked,)
    return any(os.path.realpath(place) == os.path.realpath(sys.prefix) for place in places)
