"""What the layers of an image keep of what a command downloads."""

from __future__ import annotations

from envdoctor.knowledge.variables import on
from envdoctor.rules.image._installs import Install


def keeps_downloads(install: Install) -> bool:
    return not _has_no_layer_cache(install) and not _deletes_cache(install)


def _has_no_layer_cache(install: Install) -> bool:
    """Is there no cache, or one outside of the image?"""
    if install.has("--no-cache-dir", "--no-cache", "-n"):
        return True
    if on(install.variable("PIP_NO_CACHE_DIR")) or on(install.variable("UV_NO_CACHE")):
        return True
    mounts = [value for value in install.instruction.option("mount") if "type=cache" in value]
    if install.tool == "apt":
        return any("/apt" in value for value in mounts)
    return any(word in value for value in mounts for word in ("pip", "uv", ".cache", "conda", "pkgs"))


def _deletes_cache(install: Install) -> bool:
    texts = [" ".join(command.texts) for command in install.instruction.commands]
    mine = {"apt": ("/var/lib/apt/lists",), "conda": ("conda clean", "mamba clean")}.get(install.tool)
    words = mine or ("/root/.cache", "pip cache purge", "uv cache clean", "~/.cache")
    return any(word in text for text in texts for word in words)
