"""Where this Python finds packages, without running ``site``: no .pth line and no sitecustomize is executed."""

from __future__ import annotations

import os
import sys
from collections import namedtuple

from .files import regular

TYPE_CHECKING = False  # importing typing would take a probe longer than most of its work
if TYPE_CHECKING:
    from typing import Any, Dict, List, NamedTuple, Optional, Tuple


if TYPE_CHECKING:

    class PathFile(NamedTuple):
        """A ``.pth`` file: directories it adds, whether it runs code, directories that do not exist."""

        path: str
        adds: Tuple[str, ...]
        code: bool
        dangling: Tuple[str, ...]

else:
    PathFile = namedtuple("PathFile", "path adds code dangling")


class EnvironmentPlaces:
    """Prefixes and search path of the interpreter that runs this, as a program started by it would have them."""

    def __init__(self, request: Dict[str, Any]) -> None:
        self.base_prefix = sys.base_prefix
        self.prefix, self.configuration = _virtual(sys.executable or "")
        self.is_virtual = bool(self.prefix)
        self.prefix = self.prefix or sys.prefix
        self.is_conda = os.path.isdir(os.path.join(self.prefix, "conda-meta"))
        # `site` (and Debian's changes to it) computes its directories from these.
        sys.prefix = sys.exec_prefix = self.prefix
        self.site: List[str] = _existing_directories(_site_directories([self.prefix]))
        self.system = (
            not self.is_virtual or self.configuration.get("include-system-site-packages", "").lower() == "true"
        )
        self.user: Optional[str] = _user_directory() if self.system and not request.get("no_user_site") else None
        self.path_files: List[PathFile] = []
        self.search: List[str] = []
        if self.user and os.path.isdir(self.user):
            self._add(self.user)
        for directory in self.site:
            self._add(directory)
        if self.is_virtual and self.system:
            sys.prefix = sys.exec_prefix = self.base_prefix
            for directory in _existing_directories(_site_directories([self.base_prefix])):
                self._add(directory)
            sys.prefix = sys.exec_prefix = self.prefix

    def _add(self, directory: str) -> None:
        if directory in self.search:
            return
        self.search.append(directory)
        try:
            names = sorted(name for name in os.listdir(directory) if name.endswith(".pth") and name[0] != ".")
        except OSError:
            return
        for name in names:
            found = _path_file(directory, name)
            if found is not None:
                self.path_files.append(found)
                self.search.extend(added for added in found.adds if added not in self.search)


def _path_file(directory: str, name: str) -> Optional[PathFile]:
    path = os.path.join(directory, name)
    try:
        with open(path, "rb", opener=regular) as stream:
            lines = stream.read(1 << 20).decode("utf-8-sig", "surrogateescape").splitlines()
    except OSError:
        return None
    adds: List[str] = []
    dangling: List[str] = []
    code = False
    for line in lines:
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith(("import ", "import\t")):
            code = True
            continue
        added = os.path.normpath(os.path.join(directory, line))
        if "\0" in added or not os.path.exists(added):
            dangling.append(line)
        else:
            adds.append(added)
    return PathFile(path, tuple(adds), code, tuple(dangling))


def _virtual(executable: str) -> Tuple[str, Dict[str, str]]:
    """Prefix and settings of the virtual environment of ``executable``; ("", {}) when it belongs to none."""
    folder = os.path.dirname(executable)
    for prefix in (folder, os.path.dirname(folder)):
        try:
            path = os.path.join(prefix, "pyvenv.cfg")
            with open(path, encoding="utf-8", errors="surrogateescape", opener=regular) as stream:
                pairs = [line.partition("=") for line in stream.read(1 << 20).splitlines()]
        except OSError:
            continue
        return prefix, {key.strip().lower(): value.strip() for key, _, value in pairs}
    return "", {}


def _site_directories(prefixes: List[str]) -> List[str]:
    import site  # under -S this runs nothing

    return list(site.getsitepackages(prefixes))


def _user_directory() -> Optional[str]:
    import site

    if hasattr(os, "getuid") and (os.geteuid() != os.getuid() or os.getegid() != os.getgid()):
        return None
    try:
        return site.getusersitepackages()
    except Exception:  # a system without a home directory
        return None


def _existing_directories(directories: List[str]) -> List[str]:
    kept: List[str] = []
    for directory in directories:
        if directory not in kept and os.path.isdir(directory):
            kept.append(directory)
    return kept
