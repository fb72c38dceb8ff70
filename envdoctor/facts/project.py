"""A project whose tool keeps an environment as a lock of its own says, and would take a change of ours back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from envdoctor.values.frozen import frozen

# Locks, and the commands that bring an environment back to them (each tool's own documentation of the command).
_TOOLS = {
    "uv.lock": ("`uv sync` would take them back, `uv run` those in another version", "uv run --no-sync"),
    "poetry.lock": ("`poetry sync` would take them back", ""),
    "pdm.lock": ("`pdm sync --clean` would take them back", ""),
}
_LONGEST = 32 << 20  # bytes of a lock that are looked at
_PACKAGE = re.compile(r'^name = "([^"\n]+)"\n(?:version = "([^"\n]+)")?', re.MULTILINE)  # in each of the three


@frozen
class ProjectLock:
    """A lock beside an environment, and what it says."""

    path: Path
    versions: dict[str, tuple[str, ...]]  # by normalised name

    def taken_back(self, wanted: Iterable[tuple[str, str]]) -> str:
        """What its tool would do to an environment that holds `wanted` (normalised names, versions); "": nothing."""
        other = [name for name, version in wanted if version not in self.versions.get(name, ())]
        if not other:
            return ""
        command, way = _TOOLS[self.path.name]
        first = f"Run with `{way}`, put" if way else "Put"
        return (
            f"{self.path.name} has {len(other)} of these packages in another version, or not at all: {command}. "
            f"{first} them into pyproject.toml, or make another: envdoctor fix --env ./env"
        )


def project_lock(environment: Path) -> ProjectLock | None:
    """The lock of the project to which a ``.venv`` belongs; None when there is none, or it cannot be read."""
    if environment.name != ".venv" or not (environment.parent / "pyproject.toml").is_file():
        return None
    for name in _TOOLS:
        path = environment.parent / name
        try:
            with path.open(encoding="utf-8", errors="replace") as stream:
                text = stream.read(_LONGEST)
        except OSError:
            continue
        found: dict[str, tuple[str, ...]] = {}
        for package, version in _PACKAGE.findall(text):
            found[package] = (*found.get(package, ()), *([version] if version else []))
        return ProjectLock(path=path, versions=found)
    return None
