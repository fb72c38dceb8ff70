"""Image files from the disk: which kind each is, and that it can be read at all."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from envdoctor.facts.images import devcontainer, dockerfile, services
from envdoctor.facts.model import ImageFile
from envdoctor.values import document

LIMIT = 1024 * 1024  # bytes


def load(paths: Iterable[Path]) -> tuple[ImageFile, ...]:
    """The files as facts. Raises `Trouble` with file and line for one that is absent or cannot be read."""
    return tuple(_load(path) for path in paths)


def _load(path: Path) -> ImageFile:
    source = document.read_text(path, limit=LIMIT)
    kind = kind_of(path)
    readers = {"compose": services.compose, "devcontainer": devcontainer.services}
    readers.get(kind, dockerfile.read)(source, str(path))
    return ImageFile(path=str(path), source=source, kind=kind)


def kind_of(path: Path) -> Literal["dockerfile", "compose", "devcontainer"]:
    """By the file's name: YAML is a compose file, JSON a devcontainer, everything else a Dockerfile."""
    suffix = path.suffix.lower()
    if suffix in (".yaml", ".yml"):
        return "compose"
    return "devcontainer" if suffix in (".json", ".jsonc") else "dockerfile"
