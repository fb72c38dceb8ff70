"""Runs at every start of the environment's Python, as `_envdoctor_startup`, from a line of `envdoctor-startup.pth`.

Sets variables at once and torch's flags right after `import torch`. It is on the way of every start, so it imports
nothing that is not loaded anyway, prints nothing, and a failure never stops the program that was started.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # `typing` itself would cost 15 ms at every start
if TYPE_CHECKING:
    from typing import Any


def start(variables: dict[str, tuple[str | None, str | None]], flags: dict[str, Any]) -> None:
    """Set ``variables`` (name -> value or None to remove it, and the value it replaces) and remember ``flags``.

    A variable that was set to something else on purpose, for this one program, stays as it is.
    """
    for name, (value, instead) in variables.items():
        present = os.environ.get(name)
        if value is None:
            if present is not None and instead in (None, present):
                del os.environ[name]
        elif present is None or present == instead:
            os.environ[name] = value
    # Up to 3.12 site reads the .pth files of a virtual environment twice, and a base environment may have a hook too.
    if flags and not any(isinstance(finder, _AfterTorch) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterTorch(flags))


class _AfterTorch:
    """A finder that leaves the finding to all others and sets the flags once torch's own module has run."""

    def __init__(self, flags: dict[str, Any]) -> None:
        self._flags = flags
        self._asking = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "torch" or self._asking:
            return None
        # Others may ask around in the same way, such as this hook in a base environment below this one.
        self._asking = True
        try:
            for finder in list(sys.meta_path):
                find = getattr(finder, "find_spec", None)
                found = find and find(name, path, target)
                if found:
                    self._watch(found)
                    return found
            return None
        finally:
            self._asking = False

    def _watch(self, spec: Any) -> None:
        loader = spec.loader
        try:
            original = loader.exec_module

            def exec_module(module: Any) -> None:
                vars(loader).pop("exec_module", None)
                original(module)
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                _apply(module, self._flags)

            loader.exec_module = exec_module
        except AttributeError:  # a loader of another kind, such as that of a frozen application
            return


def _apply(torch: Any, flags: dict[str, Any]) -> None:
    try:
        __import__("_envdoctor_flags").apply(torch, flags)
    except Exception as error:  # noqa: BLE001 - the program must run, with the default where a flag is refused
        import warnings

        warnings.warn(f"envdoctor could not set its torch flags: {error}", RuntimeWarning, stacklevel=2)
