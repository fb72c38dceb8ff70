"""The interpreter of a report: a version and a platform, from which a lock can be judged as for a real one."""

from __future__ import annotations

from dataclasses import replace

from envdoctor.facts.model import Facts, Interpreter
from envdoctor.facts.need import known
from envdoctor.knowledge.machine import platform_of
from envdoctor.knowledge.numbers import numbers

# os.name, sys.platform and platform.system() by the first word of sysconfig.get_platform()
_SYSTEMS = {
    "linux": ("posix", "linux", "Linux"),
    "win": ("nt", "win32", "Windows"),
    "macosx": ("posix", "darwin", "Darwin"),
}
_MACHINES = {"win-amd64": "AMD64", "win-arm64": "ARM64"}  # platform.machine() there; elsewhere it is the last word


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
