"""``envdoctor`` and ``python -m envdoctor``: the command line, of our own modules and nobody else's.

A PYTHONPATH, or a file in the working directory, that hides a module of the standard library is what a check has to
tell of, not what it has to stumble over. Python's own start, before our first line, has read PYTHONPATH all the same
(a ``sitecustomize`` there has run): ``python -I -m envdoctor`` keeps even that away.
"""

from __future__ import annotations

import os
import sys


def by_ourselves(path: list[str], given: str, working: str) -> list[str]:
    """The search path without the folders that PYTHONPATH (``given``) or the working directory brought in.

    One in which envdoctor itself lies stays, at the end: it is a checkout that is run from where it is.
    """
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folders = [folder for folder in given.split(os.pathsep) if folder]
    brought = {working, *(os.path.abspath(os.path.join(working, folder)) for folder in folders)}
    own = [folder for folder in path if os.path.abspath(os.path.join(working, folder)) not in brought]
    return own if home in map(os.path.abspath, own) else [*own, home]


def main() -> None:
    """Run the command line and exit."""
    try:
        working = os.getcwd()
    except OSError:  # removed under our feet
        working = "/"
    if not sys.flags.isolated:
        sys.path[:] = by_ourselves(sys.path, os.environ.get("PYTHONPATH", ""), working)
    from envdoctor import cli

    cli.main()


if __name__ == "__main__":
    main()
