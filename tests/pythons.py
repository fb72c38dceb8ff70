"""The doctor's own tests under other Pythons, for real: an environment each, without torch and without the trainer.

    python -m tests.pythons 3.10 3.12 3.13 3.14 [-- PYTEST OPTIONS]

A Python is a version, as uv finds or fetches it, or the path of one. What needs torch beside the doctor (marker
``torch``) is skipped there. Ends with 1 where a Python fails, and with 2 where one could not be had.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from envdoctor.change.installers import find_uv
from envdoctor.system import process

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("values", "facts", "knowledge", "locks", "rules", "models", "render", "commands", "api", "ranks")


def interpreter(name: str) -> Path | None:
    """Where that Python is, by its own word; None where it is neither here nor to be fetched.

    A pyenv shim on PATH is no Python where that version is not switched on: it is asked, and what lies behind it found.
    """
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    tried = [name] if "/" in name else [f"python{name}", *sorted(map(str, kept.glob(f"{name}.*/bin/python")))]
    for command in tried:
        said = process.run([command, "-c", "import sys; print(sys.executable)"], deadline=30)
        if said.ok:
            return Path(said.out.strip())
    if "/" in name:
        return None
    found = process.run([find_uv() or "uv", "python", "find", name], deadline=600)
    return Path(found.out.strip()) if found.ok else None


def tested(python: Path, options: list[str]) -> bool:
    """Do the doctor's tests pass under that Python, installed with what they need into an environment of its own?"""
    with tempfile.TemporaryDirectory(prefix="envdoctor-pythons-") as folder:
        place = Path(folder, "env")
        inside = place / "bin" / "python"
        for made in ([python, "-m", "venv", place], [inside, "-m", "pip", "install", "-q", f"{ROOT}[doctor-test]"]):
            if subprocess.run(made).returncode != 0:
                return False
        tests = [f"tests/{name}" for name in FOLDERS]
        return subprocess.run([inside, "-m", "pytest", "-q", *tests, *options], cwd=ROOT).returncode == 0


def main(words: list[str]) -> int:
    """One line a Python, after its tests have had their say."""
    cut = words.index("--") if "--" in words else len(words)
    names, options = words[:cut] or ["3.10", "3.12", "3.13", "3.14"], words[cut + 1 :]
    lines, code = [], 0
    for name in names:
        python = interpreter(name)
        good = tested(python, options) if python is not None else False
        lines.append(f"{name}: {'could not be had' if python is None else 'passed' if good else 'failed'} ({python})")
        code = max(code, 2 if python is None else int(not good))
    print("\n".join(lines))
    return code


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
