"""Targets of one's own, by name: those in ``./locks``, and those that the configuration lists."""

from __future__ import annotations

import os
from pathlib import Path

from envdoctor import configuration

FOLDER = "locks"


def places(folder: Path) -> dict[str, str]:
    """Path or address by the target's name. What ``envdoctor.toml`` lists goes before what lies in ``./locks``."""
    found: dict[str, str] = {}
    for below in (FOLDER, os.path.join(FOLDER, "targets")):
        try:
            names = sorted(os.listdir(folder / below))
        except OSError:
            continue
        for name in names:
            if name.endswith(".toml") and not name.startswith(("pylock.", ".")):
                found[name.removesuffix(".toml")] = str(folder / below / name)
    for place in configuration.read(folder).get("own_targets", ()):
        name = place.partition("&sha256=")[0].partition("#sha256=")[0].rpartition("/")[2].removesuffix(".toml")
        found[name] = place if "://" in place else str(folder / place)
    return found
