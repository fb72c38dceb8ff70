"""One change in a process of its own, for tests that kill it.

``python -m tests.change.driver FOLDER VERSION [OPTION...]`` says "ready" when its imports are done. Exit codes are
those of the command line: 0 done, 2 or 3 trouble (one line on stderr), 128 + n stopped by signal n. Options: ``pip``
installs with pip; ``wrap=WORDS`` starts the installer through another program; ``undo`` undoes; ``recover`` recovers.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from envdoctor.change import installers
from envdoctor.change.apply import apply
from envdoctor.change.recover import recover
from envdoctor.change.undo import undo
from envdoctor.change.values import Change
from envdoctor.errors import Trouble
from tests.change.wheels import pin


def main(folder: Path, version: str, *options: str) -> int:
    print("ready", flush=True)
    for option in options:
        if option.startswith("wrap="):
            _wrap(option.removeprefix("wrap=").split())
    pins = tuple(pin(path) for path in sorted((folder / "wheels").glob(f"*-{version}-*.whl")))
    change = Change(
        environment=folder / ".venv",
        python=sys.executable,
        wanted=pins,
        install=pins,
        wheels=folder / "wheels",
        installer="pip" if "pip" in options else "uv",
        variables={"VERSION": version},
    )
    try:
        if "undo" in options:
            undo(change.environment)
        elif "recover" in options:
            recover(change.environment)
        else:
            apply(change, verify=lambda clone: verify(clone, version), progress=lambda line: None)
    except Trouble as trouble:
        print(f"trouble: {trouble} | {trouble.remedy}", file=sys.stderr)
        return trouble.exit_code
    except KeyboardInterrupt:
        return 130
    return 0


def verify(clone: Path, version: str) -> str | None:
    code = "import alpha, beta; print(alpha.version, beta.version)"
    said = subprocess.run([clone / "bin" / "python", "-c", code], capture_output=True, text=True, timeout=60)
    return None if said.stdout.split() == [version, version] else f"{said.stdout} {said.stderr}"


def _wrap(words: list[str]) -> None:
    """Start uv or pip through ``words``, by way of a small script beside the wheels."""
    plain = installers._words
    installers._words = lambda installer, python, requirements, turn: (
        *words,
        *plain(installer, python, requirements, turn),
    )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
