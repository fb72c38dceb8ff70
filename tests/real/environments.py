"""Making real environments for the tests: by venv, pip and uv, from the sources that the user's pip is set up with."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import NamedTuple

from envdoctor.change.installers import find_uv
from envdoctor.sources import sources
from envdoctor.system import process
from tests.commands.test_check import envdoctor

PYENV = Path.home() / ".pyenv" / "versions"


class Found(NamedTuple):
    """What `check --format json` says: its exit code and document."""

    code: int
    document: dict[str, object]

    def loud(self, *leaving: str) -> list[str]:
        """Findings above note, but those of the rules in ``leaving``."""
        rows = self.document["findings"]
        assert isinstance(rows, list)
        return [
            f"{row['rule']}: {row['message']}"
            for row in rows
            if row["severity"] != "note" and row["rule"] not in leaving
        ]


def python(version: str) -> Path | None:
    """An interpreter of this version ("3.12"): this one, a pyenv version, or the system's ("system")."""
    if version == "system":
        return Path("/usr/bin/python3") if Path("/usr/bin/python3").exists() else None
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        return Path(sys.executable).resolve()
    found = sorted(PYENV.glob(f"{version}.*/bin/python")) if PYENV.is_dir() else []
    return found[-1] if found else None


def run(*argv: str | Path, deadline: float = 600, **variables: str) -> None:
    outcome = process.run([str(word) for word in argv], deadline=deadline, env={**_quiet(), **variables})
    assert outcome.ok, (argv, outcome.err[-2000:] or outcome.out[-2000:])


def _quiet() -> dict[str, str]:
    return {n: v for n, v in os.environ.items() if not n.startswith(("GITHUB_", "PYTHON", "VIRTUAL_ENV", "CONDA"))}


def uv(environment: Path, *words: str | Path, folder: Path) -> None:
    """uv with the sources of the user's pip, hard-linking from its cache."""
    found = sources.read(environment, variables=os.environ, folder=folder)
    outcome = process.run(
        [find_uv() or "uv", *map(str, words)],
        deadline=600,
        env={**found.uv, "UV_LINK_MODE": "hardlink", "UV_PYTHON_DOWNLOADS": "never"},
    )
    assert outcome.ok, (words, outcome.err[-2000:])


def check(environment: Path, *words: str, **variables: str) -> Found:
    """`envdoctor check --env ENVIRONMENT --format json` in a process of its own."""
    outcome = envdoctor("check", "--env", environment, "--format", "json", *words, **variables)
    assert outcome.out, outcome.err
    return Found(outcome.code or 0, json.loads(outcome.out))
