"""Waits for torch to be imported, and leaves no trace in a process that never imports it."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # `typing` would cost every start of Python some milliseconds
if TYPE_CHECKING:
    from typing import Any

FOLDER = "ENVDOCTOR_MEASURED_RUN"
FILTER = "ignore::_envdoctor_measured_run.Never"


def wait_for_torch() -> None:
    """Look for torch among the imports to come."""
    if not any(isinstance(finder, AfterTorch) for finder in sys.meta_path):
        sys.meta_path.insert(0, AfterTorch())


class AfterTorch:
    """A finder that leaves the finding to all others, and starts the measuring once torch's own module has run."""

    def __init__(self) -> None:
        self._asking = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name == "site":
            _tidy()
        if name != "torch" or self._asking:
            return None
        self._asking = True  # a finder that was put before this one may ask around in the same way
        try:
            for finder in list(sys.meta_path):
                find = getattr(finder, "find_spec", None)
                found = find and find(name, path, target)
                if found:
                    self._watch(found.loader)
                    return found
            return None
        finally:
            self._asking = False

    def _watch(self, loader: Any) -> None:
        original = getattr(loader, "exec_module", None)
        if original is None:  # a loader of another kind, such as that of a frozen application: not measured
            return

        def exec_module(module: Any) -> None:
            vars(loader).pop("exec_module", None)
            original(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            _begin(module)

        loader.exec_module = exec_module


def _begin(torch: Any) -> None:
    from . import hooks

    hooks.begin(torch, os.environ[FOLDER])


def _tidy() -> None:
    """Leave no trace in this process: programs look at sys.warnoptions to see whether the user asked for filters.

    The variables stay, so that the processes this one starts are measured too.
    """
    if FILTER in sys.warnoptions:
        sys.warnoptions.remove(FILTER)
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if here in sys.path:
        sys.path.remove(here)
