"""An environment for the peers, made once: this interpreter's torch, and the newest of everything else that fits it.

pip reads the user's own index configuration; uv is not used, because it does not.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

PEERS = ("transformers", "accelerate", "datasets", "peft", "trl", "sentence-transformers")
PROBE = "import json; from importlib import metadata as m; print(json.dumps({n: m.version(n) for n in %r}))"


def default_folder() -> Path:
    """One per Python and torch version, in the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    key = hashlib.sha256(("%s %s" % (platform.python_version(), _torch())).encode()).hexdigest()[:8]
    return Path(base) / "envdoctor-trainer" / ("peers-" + key)


def interpreter(folder: Path, say: Callable[[str], None]) -> str:
    """Python of the peers' environment in `folder`, which is made if it is not there. SystemExit when pip fails."""
    python = folder / "bin" / "python"
    if versions(str(python)):
        return str(python)
    say("installing torch %s, %s into %s (about two minutes)" % (_torch(), ", ".join(PEERS), folder))
    _run([sys.executable, "-m", "venv", "--clear", str(folder)])
    wanted = ["torch==" + _torch(), *PEERS]
    _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted])
    if not versions(str(python)):
        raise SystemExit("%s: not every peer can be imported after the installation" % folder)
    return str(python)


def versions(python: str) -> dict[str, str]:
    """Versions of torch and the peers under that interpreter; empty when one is missing."""
    if not Path(python).exists():
        return {}
    done = subprocess.run(
        [python, "-c", PROBE % (("torch", *PEERS),)], capture_output=True, text=True, timeout=120, check=False
    )
    found: dict[str, str] = json.loads(done.stdout) if done.returncode == 0 else {}
    return found


def _torch() -> str:
    try:
        return metadata.version("torch").partition("+")[0]
    except metadata.PackageNotFoundError:
        raise SystemExit("torch is not installed here: run this with the trainer's interpreter") from None


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
    if done.returncode:
        raise SystemExit("%s failed:\n%s" % (" ".join(command[:4]), done.stderr[-3000:]))
