"""Recorded pieces of /proc, /sys and /dev of other machines, laid out below a folder."""

from __future__ import annotations

from pathlib import Path

from envdoctor.facts.probe.machine.reading import Root


def lay(folder: Path, files: dict[str, str | bytes]) -> Root:
    for path, content in files.items():
        target = folder / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
    return Root(str(folder))
