"""accelerate's default configuration, which every `accelerate launch` without arguments obeys."""

from __future__ import annotations

import os

from .reading import Root

TYPE_CHECKING = False  # importing typing would take a probe longer than most of its work
if TYPE_CHECKING:
    from typing import Any, Dict, Mapping, Optional


def read(root: Root, environ: Mapping[str, str]) -> Optional[Dict[str, Any]]:
    """A facts.Launcher value, or None when there is no such file."""
    home = environ.get("HOME") or os.path.expanduser("~")
    caches = environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    hub = environ.get("HF_HOME") or os.path.join(caches, "huggingface")
    for name in ("default_config.yaml", "default_config.json"):
        path = os.path.join(hub, "accelerate", name)
        text = root.text(path, 1 << 16)
        if text is not None:
            return {"settings": settings(text), "source": path}
    return None


def settings(text: str) -> Dict[str, str]:
    """``key: value`` lines of plain YAML (or JSON in lines), nested keys joined by dots; lists are left out."""
    found: Dict[str, str] = {}
    above: Dict[int, str] = {}
    for line in text.splitlines():
        bare = line.strip().rstrip(",")
        if not bare or bare[0] in "#-[]{}":
            continue
        key, colon, value = bare.partition(":")
        if not colon:
            continue
        depth = len(line) - len(line.lstrip())
        above = {indent: name for indent, name in above.items() if indent < depth}
        name = ".".join([*(above[indent] for indent in sorted(above)), key.strip().strip("'\"")])
        value = value.partition(" #")[0].strip().strip("'\"")
        if value in ("", "{"):
            above[depth] = key.strip().strip("'\"")
        else:
            found[name] = value
    return found
