"""The interpreter of a report: a version and a platform, from which a lock can be judged as for a real one."""

from __future__ import annotations

from dataclasses import replace

from envdoctor.facts.model import Facts, Interpreter
from envdoctor.facts.need import known
from envdoctor.knowledge import pairs, versions
from envdoctor.knowledge.machine import platform_of
from envdoctor.knowledge.numbers import numbers
from envdoctor.knowledge.torch_builds import release_of

# os.name, sys.platform and platform.system() by the first word of sysconfig.get_platform()
_SYSTEMS = {
    "linux": ("posix", "linux", "Linux"),
    "win": ("nt", "win32", "Windows"),
    "macosx": ("posix", "darwin", "Darwin"),
}
_MACHINES = {"win-amd64": "AMD64", "win-arm64": "ARM64"}  # platform.machine() there; elsewhere it is the last word


_FIRST_WHEELS = {
    "numpy": (("3.9", "1.19.3"), ("3.10", "1.21.2"), ("3.11", "1.23.2"), ("3.12", "1.26.0"), ("3.13", "2.1.0")),
    "numba": (("3.9", "0.53"), ("3.10", "0.55"), ("3.11", "0.57"), ("3.12", "0.59"), ("3.13", "0.61")),
    "tokenizers": (("3.11", "0.13.2"), ("3.12", "0.15.1"), ("3.13", "0.20.2")),
}
"""The release with which each Python's first wheels came: https://numpy.org/doc/stable/release.html
https://numba.readthedocs.io/en/stable/user/installing.html#version-support-information, and the files of tokenizers for
Linux and Windows on PyPI."""
_SINCE = {"tokenizers": "3.11"}
"""Where older Pythons are not known."""


def newest_python(name: str, version: str) -> str | None:
    """The Python to take for this release of a compiled package: the newest that it has wheels for, up to 3.12, for
    which most other packages have some; None where that is not known."""
    last = last_python(name, version)
    return min(last, "3.12", key=numbers) if last and name in _OF_TORCH else last


_OF_TORCH = ("torch", "torchaudio", "torchvision")
_BEFORE_THE_TABLE = "3.7"  # of torch 0.4 to 1.2: the wheels on the package index


def last_python(name: str, version: str) -> str | None:
    """The newest Python for which this release of a compiled package has wheels; None where that is not known."""
    if name in _OF_TORCH and numbers(version):
        torch = version if name == "torch" else pairs.torch_of(name, version)
        if release := release_of(torch):
            return release.python[1]
        return _BEFORE_THE_TABLE if numbers(torch)[:2] < (1, 3) else None
    if not version:
        return None
    pythons = [python for python, first in _FIRST_WHEELS.get(name, ()) if not versions.below(version, first)]
    older = name in _FIRST_WHEELS and name not in _SINCE and numbers(version)
    return pythons[-1] if pythons else "3.8" if older else None


def first_release(name: str, python: str | None) -> str | None:
    """The first release of a compiled package that has wheels for this Python; None where that is not known."""
    wanted = numbers(python)[:2]
    return next((first for each, first in _FIRST_WHEELS.get(name, ()) if numbers(each) == wanted), None)


def headers_package(facts: Facts) -> str:
    """Debian's and Ubuntu's package with the headers of the Python that a report tells: each release has its own."""
    interpreter = known(facts.interpreter)
    parts = numbers(interpreter.version) if interpreter else ()
    return f"python{parts[0]}.{parts[1]}-dev" if len(parts) > 1 else "python3-dev"


def interpreter_of(facts: Facts) -> Interpreter | None:
    """The environment's Python; of a report that names only its version, CPython on the platform that it names."""
    interpreter = known(facts.interpreter)
    if interpreter is None or interpreter.markers or facts.origin.kind == "probe":
        return interpreter
    parts = numbers(interpreter.version)
    if len(parts) < 2:
        return None
    platform = platform_of(facts)
    os_name, sys_platform, system = _SYSTEMS.get(platform.partition("-")[0], _SYSTEMS["linux"])
    full = interpreter.version if len(parts) > 2 else f"{interpreter.version}.0"
    markers = {
        "implementation_name": "cpython",
        "implementation_version": full,
        "os_name": os_name,
        "platform_machine": _MACHINES.get(platform, platform.rpartition("-")[2] or "x86_64"),
        "platform_release": "",
        "platform_system": system,
        "platform_version": "",
        "python_full_version": full,
        "platform_python_implementation": "CPython",
        "python_version": f"{parts[0]}.{parts[1]}",
        "sys_platform": sys_platform,
    }
    # A report seldom names its C library; 2.28 is the oldest that current torch wheels accept.
    return replace(interpreter, markers=markers, platform=platform, libc=interpreter.libc or "glibc 2.28")
