"""``envdoctor`` and ``python -m envdoctor``: the command line, of our own modules and nobody else's.

A PYTHONPATH, or a file in the working directory, that hides a module of the standard library is what a check has to
tell of, not what it has to stumble over. Python's own start, before our first line, has read PYTHONPATH all the same
(a ``sitecustomize`` there has run): ``python -I -m envdoctor`` keeps even that away.
"""

from __future__ import annotations

import gc
import io
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


def prepare_streams() -> None:
    """Open /dev/null for each standard stream that we were started without (``>&-``), and let none refuse a character.

    The number of a closed one would go to the next file that is opened, a lock or a journal, and with it our words.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None and not _is_open(number):
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8"))  # noqa: SIM115 - stays open
    for stream in (sys.stdout, sys.stderr):  # a C locale has no check mark, and no encoding has half of a character
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def main() -> None:
    """Run the command line and exit."""
    prepare_streams()
    try:
        working = os.getcwd()
    except OSError:  # removed under our feet
        working = "/"
    if not sys.flags.isolated:
        sys.path[:] = by_ourselves(sys.path, os.environ.get("PYTHONPATH", ""), working)
    # Thousands of classes and functions come and stay; looking for garbage among them took 7 % of `check`.
    gc.set_threshold(50_000, 20, 20)
    from envdoctor import cli

    cli.main()


if __name__ == "__main__":
    main()
