"""Answer a request, section by section; what could block (a dead network share) comes last."""

from __future__ import annotations

import functools
import json
import os
import time
from typing import Any, Callable, Dict, TextIO

from . import driver, host, launcher, mounts, network, storage, tools
from .reading import Root


def main(request_path: str, answer_path: str) -> None:
    with open(request_path, encoding="utf-8") as stream:
        request = json.load(stream)
    root = Root(request.get("root", "/"))
    environ = {**os.environ, **request.get("variables", {})}
    mounted = mounts.read(root)
    cwd = request.get("cwd") or "/"
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
    with open(answer_path, "w", encoding="ascii") as stream:
        for name, read in sections.items():
            _tell(stream, name, read)
        # Each directory on a line of its own: those before a dead one are known.
        for purpose, path in storage.places(environ, request.get("prefix") or "/", cwd):
            _tell(stream, "storage", functools.partial(storage.look, mounted, purpose, path))


def _tell(stream: TextIO, name: str, read: Callable[[], Any]) -> None:
    started = time.perf_counter()
    answer: Dict[str, Any] = {"section": name}
    try:
        answer.update(result="success", value=read())
    except Exception as error:
        answer.update(result="error", error="%s: %s" % (type(error).__name__, error))
    answer["seconds"] = round(time.perf_counter() - started, 4)
    stream.write(json.dumps(answer) + "\n")
    stream.flush()
