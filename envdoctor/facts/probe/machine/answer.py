"""The sections that the machine's files answer; what could block (a dead network share) comes last."""

from __future__ import annotations

import functools
import json
import os

from ..sections import tell
from . import driver, host, launcher, mounts, network, storage, tools
from .reading import Root

TYPE_CHECKING = False  # importing typing would take a probe longer than most of its work
if TYPE_CHECKING:
    from typing import Any, Callable, Dict


def main(request_path: str, answer_path: str) -> None:
    """Answer the request (the environment's prefix, working directory, variables withheld from us)."""
    with open(request_path, encoding="utf-8") as stream:
        request = json.load(stream)
    root = Root()
    environ = {**os.environ, **request.get("variables", {})}
    mounted = mounts.read(root)
    found: Dict[str, Any] = {}

    def read_driver() -> Dict[str, Any]:
        found.update(driver.read(root, environ))
        return found

    sections: Dict[str, Callable[[], Any]] = {
        "driver": read_driver,
        "host": lambda: host.read(root, mounted, environ),
        "tools": lambda: tools.read(root, environ),
        "network": lambda: network.read(root, bool(found.get("pci"))),
        "launcher": lambda: launcher.read(root, environ),
        "kernel-errors": lambda: driver.kernel_errors(root) if found.get("kernel_module") else {},
        "shared-memory": lambda: storage.shared_memory(root),
    }
    with open(answer_path, "w", encoding="utf-8") as answer:
        for name, read in sections.items():
            tell(answer, name, read)
        # Each directory on a line of its own: those before a dead one are known.
        for purpose, path in storage.places(environ, request.get("prefix") or "/", request.get("cwd") or "/"):
            tell(answer, "storage", functools.partial(storage.look, mounted, purpose, path))
