"""The envdoctor program as its own environment sees it: an interpreter apart, so that what it needs (and PYTHONPATH)
is not mistaken for the examined environment's.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.gpu.machine import ROOT


@dataclass(frozen=True)
class Done:
    """How a command ended; `code` -1 when it ran out of its time."""

    code: int
    out: str
    err: str


def interpreter(folder: Path) -> str:
    """A Python in `folder` that sees this one's packages and those of PYTHONPATH, but is another environment."""
    places = [*os.environ.get("PYTHONPATH", "").split(os.pathsep), str(ROOT), sysconfig.get_paths()["purelib"]]
    try:
        import venv

        venv.EnvBuilder(with_pip=False, symlinks=True).create(folder)
    except (ImportError, OSError, subprocess.CalledProcessError):
        return _wrapper(folder, places)  # some distributions leave venv out of Python
    library = next((folder / "lib").glob("python*")) / "site-packages"
    (library / "places.pth").write_text("".join(place + "\n" for place in places if place), encoding="utf-8")
    return str(folder / "bin" / "python")


def _wrapper(folder: Path, places: list[str]) -> str:
    """This Python under a script that sets PYTHONPATH: what it starts inherits that, which a check then mentions."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "python"
    line = "PYTHONPATH=%s exec %s" % (shlex.quote(os.pathsep.join(filter(None, places))), shlex.quote(sys.executable))
    script.write_text('#!/bin/sh\n%s "$@"\n' % line, encoding="utf-8")
    script.chmod(0o755)
    return str(script)


def run(words: Sequence[str], seconds: float, folder: Path, plain: bool = False) -> Done:
    """Run to the end or the deadline; files it writes beside itself go to `folder`. `plain`: with our PYTHONPATH."""
    environment: dict[str, str] = dict(os.environ)
    if not plain:
        environment.pop("PYTHONPATH", None)
    environment.update(XDG_STATE_HOME=str(folder / "state"), XDG_CACHE_HOME=str(folder / "cache"), COLUMNS="150")
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(list(words), stdout=out, stderr=err, env=environment, start_new_session=True)
        try:
            code = child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, 9)
            child.wait()
            code = -1
        texts: list[str] = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode("utf-8", "replace"))
    return Done(code, *texts)


def environment_here() -> str:
    """The environment this measurement runs in."""
    return sys.prefix
