"""The interpreter itself, and which files could take the place of its modules."""

from __future__ import annotations

import os
import sys

from .files import regular
from .places import EnvironmentPlaces

TYPE_CHECKING = False  # importing typing would take a probe longer than most of its work
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Set


def read(places: EnvironmentPlaces, request: Dict[str, Any]) -> Dict[str, Any]:
    purelib = places.site[0] if places.site else ""
    return {
        "version": "%d.%d.%d" % sys.version_info[:3] + _stage(),
        "executable": sys.executable,
        "prefix": places.prefix,
        "base_prefix": places.base_prefix,
        "implementation": sys.implementation.name,
        "markers": _markers(),
        "platform": _platform(),
        "libc": _libc(),
        "is_virtual": places.is_virtual,
        "is_conda": places.is_conda,
        "externally_managed": _externally_managed(places),
        "site_packages": places.site,
        "writable": os.access(purelib, os.W_OK | os.X_OK) if purelib else None,
        "free_threaded": not getattr(sys, "_is_gil_enabled", lambda: True)() or "t" in getattr(sys, "abiflags", ""),
        "debug_build": hasattr(sys, "gettotalrefcount"),
        "headers": _headers(places),
        "shadowed": _shadowed_modules(places, request),
        "user_site": places.user if places.user and _holds_packages(places.user) else None,
        "path_files": _path_files(places),
        "active_environment": request.get("active"),
    }


def _stage() -> str:
    level, serial = sys.version_info[3:5]
    return "" if level == "final" else {"alpha": "a", "beta": "b", "candidate": "rc"}[level] + str(serial)


def _markers() -> Dict[str, str]:
    """The environment of PEP 508 markers; the definitions are those of the dependency specifiers standard."""
    info = sys.implementation.version
    version = "%d.%d.%d" % info[:3]
    if info.releaselevel != "final":
        version += info.releaselevel[0] + str(info.serial)
    return {
        "implementation_name": sys.implementation.name,
        "implementation_version": version,
        "os_name": os.name,
        "python_version": "%d.%d" % sys.version_info[:2],
        "sys_platform": sys.platform,
        **_platform_markers(),
    }


def _platform_markers() -> Dict[str, str]:
    """What `platform` says; its expressions take a twentieth of this probe's time to compile."""
    if sys.platform == "linux" and sys.implementation.name == "cpython":
        system, _, release, version, machine = os.uname()
        python, implementation = sys.version.split(" ", 1)[0], "CPython"
    else:
        import platform

        system, release, version, machine = (
            platform.system(),
            platform.release(),
            platform.version(),
            platform.machine(),
        )
        python, implementation = platform.python_version(), platform.python_implementation()
    return {
        "platform_machine": machine,
        "platform_python_implementation": implementation,
        "platform_release": release,
        "platform_system": system,
        "platform_version": version,
        "python_full_version": python,
    }


def _platform() -> str:
    if os.name == "posix" and os.uname().sysname == "Linux":
        machine: str = os.uname().machine
        # A 32-bit interpreter on a 64-bit kernel; sysconfig says the same, after loading all of its variables.
        if machine == "x86_64" and sys.maxsize < 2**32:
            machine = "i686"
        return "linux-" + machine
    import sysconfig

    return sysconfig.get_platform()


def _libc() -> Optional[str]:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION")
    except (AttributeError, OSError, ValueError):
        names = os.listdir("/lib") if os.path.isdir("/lib") else []
        return "musl" if any(name.startswith("ld-musl-") for name in names) else None


def _externally_managed(places: EnvironmentPlaces) -> bool:
    standard = os.path.dirname(os.__file__)
    return not places.is_virtual and os.path.exists(os.path.join(standard, "EXTERNALLY-MANAGED"))


def _headers(places: EnvironmentPlaces) -> str:
    """Path of Python.h, without which nothing can be compiled (torch.compile on the CPU, extensions); "" if missing."""
    folder = "python%d.%d%s" % (sys.version_info[0], sys.version_info[1], getattr(sys, "abiflags", ""))
    likely = os.path.join(places.base_prefix, "include", folder, "Python.h")
    if os.path.exists(likely):
        return likely
    import sysconfig

    path = os.path.join(sysconfig.get_path("include"), "Python.h")
    return path if os.path.exists(path) else ""


def _holds_packages(directory: str) -> bool:
    try:
        return any(name.endswith((".dist-info", ".egg-info", ".egg-link", ".pth")) for name in os.listdir(directory))
    except OSError:
        return False


def _path_files(places: EnvironmentPlaces) -> List[str]:
    inside = (places.prefix + os.sep, *(directory + os.sep for directory in places.site))
    told = []
    for found in places.path_files:
        outside = [added for added in found.adds if not (added + os.sep).startswith(inside)]
        if found.code:
            told.append("%s runs code" % found.path)
        told.extend("%s adds %s" % (found.path, added) for added in outside)
    for directory in places.search:
        for name in ("sitecustomize.py", "usercustomize.py"):
            path = os.path.join(directory, name)
            if os.path.exists(path):
                told.append("%s runs code" % path)
    return told


def _shadowed_modules(places: EnvironmentPlaces, request: Dict[str, Any]) -> List[str]:
    """Modules in the working directory or PYTHONPATH with the name of a standard or an installed module."""
    candidates: List[str] = []
    for entry in [request.get("cwd") or "", *(request.get("python_path") or [])]:
        if entry and os.path.isdir(entry) and entry not in candidates:
            candidates.append(entry)
    own = {os.path.realpath(directory) for directory in places.search}
    own.add(os.path.realpath(os.path.dirname(os.__file__)))
    candidates = [directory for directory in candidates if os.path.realpath(directory) not in own]
    if not candidates:
        return []
    taken = _standard_modules()
    for directory in places.search:
        taken.update(_modules(directory))
    # `site` and `sitecustomize` load before a script's folder counts; __main__ and setup are run, not imported.
    taken -= {"__main__", "setup", "conftest", "tests", "test"}
    return [
        os.path.join(directory, file)
        for directory in candidates
        for module, file in sorted(_modules(directory).items())
        if module in taken and not _is_source_of(directory, module, places)
    ]


def _is_source_of(directory: str, module: str, places: EnvironmentPlaces) -> bool:
    """Is the module there the source that the installed one was made from, as in any checkout with a flat layout?

    It is where the folder's project has the name of an installed distribution that brings this module.
    """
    import re  # rarely needed: most folders hide nothing

    name = _project_name(directory)
    if not name:
        return False
    for place in places.search:
        try:
            entries = [entry for entry in os.listdir(place) if entry.endswith(".dist-info")]
        except OSError:
            continue
        for entry in entries:
            if re.sub(r"[-_.]+", "-", entry[: -len(".dist-info")].rpartition("-")[0]).lower() == name:
                text = _text(os.path.join(place, entry, "RECORD")) + _text(os.path.join(place, entry, "top_level.txt"))
                if re.search(r"^%s(/|\.py|$)" % re.escape(module), text, re.MULTILINE):
                    return True
    return False


def _project_name(directory: str) -> str:
    """The normalised name in the folder's pyproject.toml or setup.cfg, "" without one."""
    import re

    patterns = {"pyproject.toml": r"^name\s*=\s*[\"']([^\"']{1,100})", "setup.cfg": r"^name\s*=\s*(\S{1,100})"}
    for file, pattern in patterns.items():
        found = re.search(pattern, _text(os.path.join(directory, file)), re.MULTILINE)
        if found:
            return re.sub(r"[-_.]+", "-", found.group(1)).lower()
    return ""


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace", opener=regular) as stream:
            return stream.read(1 << 20)
    except OSError:
        return ""


def _modules(directory: str) -> Dict[str, str]:
    """Module name -> entry, for what ``import`` would take from this directory (a folder needs its __init__.py)."""
    found: Dict[str, str] = {}
    try:
        entries = list(os.scandir(directory))
    except OSError:
        return found
    for entry in entries:
        name, dot, suffix = entry.name.partition(".")
        if not name.isidentifier():
            continue
        if not dot:
            if os.path.isfile(os.path.join(entry.path, "__init__.py")):
                found[name] = entry.name + "/"
        elif suffix == "py" or (suffix.endswith(("so", "pyd")) and suffix.partition(".")[0] not in ("txt", "json")):
            found[name] = entry.name
    return found


def _standard_modules() -> Set[str]:
    names: Set[str] = set(getattr(sys, "stdlib_module_names", ()))
    if not names:  # Python 3.8 and 3.9
        names = set(sys.builtin_module_names) | set(_modules(os.path.dirname(os.__file__)))
    return {name for name in names if not name.startswith("_")}
