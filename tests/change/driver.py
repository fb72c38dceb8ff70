"""``envdoctor`` in a process of its own, for tests that kill it.

``python -m tests.change.driver [wrap=PROGRAM] [compile=PROGRAM] WORDS...`` says "ready" when its imports are done and
is ``envdoctor WORDS...`` from then on, with its exit codes. ``wrap`` starts the installer through another program,
``compile`` the Python that compiles the startup hook. ``recover PATH`` does what every command that changes an
environment does first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from envdoctor import cli
from envdoctor.change import installers, recover
from envdoctor.errors import Trouble
from envdoctor.launch import hook


def main(*words: str) -> int:
    print("ready", flush=True)
    while words and (option := words[0].partition("="))[1]:
        module: Any = {"wrap": installers, "compile": hook}[option[0]]
        module.run = through(module.run, option[2])
        words = words[1:]
    if words[0] != "recover":
        return cli.run(words)
    try:
        recover.recover(Path(words[1]))
    except Trouble as trouble:
        cli.show(trouble)
        return trouble.exit_code
    return 0


def through(run: Callable[..., Any], program: str) -> Callable[..., Any]:
    """Only what changes files: neither the making of a venv nor the options whether there is a pip."""

    def wrapped(argv: tuple[str, ...], **options: Any) -> Any:
        changes = "install" in argv or any("py_compile" in str(word) for word in argv)
        return run((program, *argv) if changes else argv, **options)

    return wrapped


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
